#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ibv_devices and ibv_devinfo -v of Debian, as they are on Macs: names, GUIDs, ports, GID tables,
# limits; and what the scenario's macOS changes.
# shellcheck source=tests/clients/lib.sh
. "$(dirname "$0")/lib.sh"
for program in ibv_devices ibv_devinfo; do
    command -v "$program" >/dev/null || {
        echo "skipped: $program is not there (package ibverbs-utils)"
        exit 77
    }
done

# scenario FILE MODEL MACOS RDMA IP: four Macs of the model in a full mesh.
scenario() {
    cat >"$1" <<END_OF_FILE
tbmesh: 1
name: four Macs
seed: 1
macos: "$3"
machines:
  - {name: mac, model: $2, count: 4}
cables:
  - {mesh: [mac1, mac2, mac3, mac4], kind: tb5-1m}
rdma: $4
bridge: {members: none}
ip: $5
END_OF_FILE
}

# field HOST DEVICE NAME: the value that ibv_devinfo printed for it, in stdout.
field() {
    sed -n "s/^\[$1\] //p" stdout | awk -v device="$2" -v name="$3" '
        $1 == "hca_id:" { at = $2 }
        at == device && $1 == name ":" { sub("^[ \t]*[^ \t]*[ \t]*", ""); print }'
}

# is HOST DEVICE NAME VALUE
is() {
    seen=$(field "$1" "$2" "$3")
    [ "$seen" = "$4" ] || fail "$1 $2: $3 is '$seen', expected '$4'"
}

# Four Mac minis, as in Apple TN3205: en2 to en4, all cabled.
scenario minis.yaml mac-mini-m4-pro 26.3 enabled per-cable
run "ibv_devices" 0 timeout 60 "$tbmesh" run minis.yaml -- ibv_devices
for mac in 1 2 3 4; do
    [ "$(sed -n "s/^\[mac$mac\] *\(rdma_en[0-9]*\).*/\1/p" stdout | tr '\n' ' ')" = \
        "rdma_en2 rdma_en3 rdma_en4 " ] || fail "mac$mac has other devices: $(cat stdout)"
    # GUIDs of a Mac differ in the first byte only and end in ac05.
    [ "$(sed -n "s/^\[mac$mac\] *rdma_en[0-9]*[[:space:]]*..\([0-9a-f]*ac05\)\$/\1/p" stdout |
        sort -u | wc -l)" = 1 ] || fail "GUIDs of mac$mac"
done
[ "$(grep -o '[0-9a-f]\{12\}ac05' stdout | sort -u | wc -l)" = 12 ] || fail "12 GUIDs, all different"

run "ibv_devinfo" 0 timeout 60 "$tbmesh" run minis.yaml -- ibv_devinfo -v
for mac in mac1 mac2 mac3 mac4; do
    lid=0
    for device in rdma_en2 rdma_en3 rdma_en4; do
        lid=$((lid + 1))
        is $mac $device vendor_id 0x0000
        is $mac $device vendor_part_id 0
        is $mac $device hw_ver 0x0
        is $mac $device fw_ver ''
        is $mac $device board_id ''
        is $mac $device phys_port_cnt 1
        is $mac $device port 1
        is $mac $device state 'PORT_ACTIVE (4)'
        is $mac $device max_mtu '4096 (5)'
        is $mac $device active_mtu '4096 (5)'
        is $mac $device sm_lid $lid
        is $mac $device port_lid $lid
        is $mac $device port_lmc 0x00
        is $mac $device active_width '8X (4)'
        is $mac $device active_speed '10.0 Gbps (4)'
        is $mac $device max_msg_sz 0xfff000
        is $mac $device gid_tbl_len 3
        is $mac $device max_qp 11
        is $mac $device max_cq 11
        is $mac $device max_pd 11
        is $mac $device max_mr 100
        is $mac $device max_mr_size 0xfa0000
        is $mac $device max_qp_wr 4095
        is $mac $device max_cqe 4096
        is $mac $device max_sge 1
        is $mac $device max_srq 0
        is $mac $device atomic_cap 'ATOMIC_NONE (0)'
        is $mac $device page_size_cap 0x4000
        field $mac $device transport | grep -q '(100)$' || fail "$mac $device: not transport 100"
        # Link-local of the MAC address, IPv4 of the interface, a second link-local one.
        sed -n "s/^\[$mac\] //p" stdout | awk -v device=$device '
            $1 == "hca_id:" { at = $2 }
            at == device && /GID\[/ { print $3 }' >gids
        grep -c . gids | grep -qx 3 || fail "$mac $device: GIDs: $(cat gids)"
        sed -n 1p gids | grep -Eq '^fe80::[0-9a-f]+:[0-9a-f]+ff:fe[0-9a-f]{2}:[0-9a-f]+,' ||
            fail "$mac $device: GID 0"
        sed -n 2p gids | grep -Eq '^::ffff:192\.168\.[0-9]+\.[0-9]+,' || fail "$mac $device: GID 1"
        sed -n 3p gids | grep -q '^fe80::' || fail "$mac $device: GID 2"
        field $mac $device sys_image_guid >>images.$mac
        field $mac $device node_guid >>nodes
    done
    [ "$(sort -u images.$mac | wc -l)" = 1 ] || fail "$mac: one system image GUID for all devices"
done
[ "$(sort -u images.* | wc -l)" = 4 ] || fail "system image GUIDs are not the Macs' own"
[ "$(cat nodes images.* | sort -u | wc -l)" = 16 ] || fail "GUIDs are not all different"

# The two ends of a cable are in one network; nobody else is.
sed -n 's/.*::ffff:\(192\.168\.[0-9]*\.[0-9]*\),.*/\1/p' stdout >addresses
[ "$(sort -u addresses | wc -l)" = 12 ] || fail "12 addresses, all different"

# A Mac Studio: six devices; three cables are in.
scenario studios.yaml mac-studio-m3-ultra 26.3 enabled none
run "a Mac Studio" 0 timeout 60 "$tbmesh" run --ranks 1 studios.yaml -- ibv_devinfo -v
for device in rdma_en2 rdma_en3 rdma_en4; do
    is mac1 $device state 'PORT_ACTIVE (4)'
    is mac1 $device gid_tbl_len 2 # without an IPv4 address there is no GID 1
done
for device in rdma_en5 rdma_en6 rdma_en7; do
    is mac1 $device state 'PORT_DOWN (1)'
done
if grep -q '::ffff:' stdout; then fail "a Mac without IPv4 addresses has a GID of one"; fi

# RDMA off, a macOS before 26.2, a Mac with Thunderbolt 4: no device, and we say why.
scenario off.yaml mac-mini-m4-pro 26.3 disabled per-cable
run "RDMA off" 0 timeout 60 "$tbmesh" run --ranks 1 off.yaml -- ibv_devices
! grep -q rdma_en stdout || fail "RDMA off: there are devices"
says "RDMA off" stderr 'warning: rank 0 \(mac1\): .*no RDMA device: RDMA is disabled'
scenario old.yaml mac-mini-m4-pro 26.0 enabled per-cable
run "macOS 26.0" 0 timeout 60 "$tbmesh" run --ranks 1 old.yaml -- ibv_devices
! grep -q rdma_en stdout || fail "macOS 26.0: there are devices"
says "macOS 26.0" stderr 'warning: rank 0 \(mac1\): .*no RDMA device: macOS 26.0 has no RDMA'
sed 's/mac-mini-m4-pro/mac-mini-m4/; s/tb5-1m/tb4-1m/; s/, count: 4/, count: 2/; s/mesh: .*\]/mesh: [mac1, mac2]/' \
    minis.yaml >tb4.yaml
run "Thunderbolt 4" 0 timeout 60 "$tbmesh" run --ranks 1 tb4.yaml -- ibv_devices
! grep -q rdma_en stdout || fail "Thunderbolt 4: there are devices"
says "Thunderbolt 4" stderr 'warning: rank 0 \(mac1\): .*no RDMA device: .*Thunderbolt 5'

# macOS 26.2: a message is one frame; limits as later. 26.3: what TN3205 says.
scenario first.yaml mac-mini-m4-pro 26.2 enabled per-cable
run "macOS 26.2" 0 timeout 60 "$tbmesh" run --ranks 1 first.yaml -- ibv_devinfo -v -d rdma_en2
is mac1 rdma_en2 max_msg_sz 0x1000
is mac1 rdma_en2 max_qp 11
for macos in first minis; do
    run "limits, $macos" 0 timeout 60 "$tbmesh" run --ranks 1 $macos.yaml -- "$probe" limits rdma_en2
    says "limits, $macos" stdout '\] qp 10 then 16$'
    run "4 KiB, $macos" 0 timeout 60 "$tbmesh" run --ranks 2 $macos.yaml -- \
        "$probe" ping rdma_en2 4096
done
run "4097 B, macOS 26.3" 0 timeout 60 "$tbmesh" run --ranks 2 minis.yaml -- "$probe" ping rdma_en2 4097
run "4097 B, macOS 26.2" 1 timeout 60 "$tbmesh" run --ranks 2 first.yaml -- "$probe" ping rdma_en2 4097
finish
