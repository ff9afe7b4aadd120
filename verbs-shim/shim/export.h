/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that cross from libtbmesh.so to the other objects of the shim. A program may export
 * functions of the same plain name, and its definitions come first, so ours have a prefix in the
 * symbol table.
 */
#ifndef VERBS_SHIM_SHIM_EXPORT_H
#define VERBS_SHIM_SHIM_EXPORT_H

#define SHIM_EXPORT __attribute__((visibility("default")))

#define client_agreed       tbmesh_client_agreed
#define client_join         tbmesh_client_join
#define client_is_joined    tbmesh_client_is_joined
#define client_take_events  tbmesh_client_take_events
#define client_set_look     tbmesh_client_set_look
#define client_own_code     tbmesh_client_own_code
#define actor_self          tbmesh_actor_self
#define tsc_hook            tbmesh_tsc_hook
#define actor_now           tbmesh_actor_now
#define actor_stats         tbmesh_actor_stats
#define actor_charge        tbmesh_actor_charge
#define actor_leave         tbmesh_actor_leave
#define actor_sleep_until   tbmesh_actor_sleep_until
#define actor_call          tbmesh_actor_call
#define actor_post          tbmesh_actor_post
#define actor_wait          tbmesh_actor_wait
#define actor_wake          tbmesh_actor_wake
#define actor_wait_outside  tbmesh_actor_wait_outside
#define actor_acted_outside tbmesh_actor_acted_outside
#define actor_calls         tbmesh_actor_calls
#define actor_idle          tbmesh_actor_idle
#define actor_order         tbmesh_actor_order
#define actor_wait_watching tbmesh_actor_wait_watching
#define actor_lease         tbmesh_actor_lease
#define actor_jump          tbmesh_actor_jump
#define actor_trace         tbmesh_actor_trace
#define arena_take          tbmesh_arena_take
#define arena_peer          tbmesh_arena_peer
#define shim_log            tbmesh_shim_log
#define shim_alloc          tbmesh_shim_alloc
#define shim_free           tbmesh_shim_free

#endif
