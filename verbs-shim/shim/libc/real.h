/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C library's own functions behind our wrappers: REAL(read)(fd, buf, n). All of the shim that
 * means the kernel and not the clock calls these: a plain call would reach the wrapper.
 */
#ifndef VERBS_SHIM_SHIM_LIBC_REAL_H
#define VERBS_SHIM_SHIM_LIBC_REAL_H

#include <dirent.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

struct rusage;
struct sembuf;
struct msqid_ds;
struct __res_state; // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)
struct addrinfo;
struct hostent;

/* X(name, result, parameters). Locks come first: an allocator that somebody preloads may take one
 * while the rest is being looked up. */
#define REAL_LIST(X)                                                                               \
    X(pthread_mutex_lock, int, (pthread_mutex_t *))                                                \
    X(pthread_mutex_trylock, int, (pthread_mutex_t *))                                             \
    X(pthread_mutex_unlock, int, (pthread_mutex_t *))                                              \
    X(syscall, long, (long, ...))                                                                  \
    /* lock.c, cond.c, thread.c */                                                                 \
    X(pthread_mutex_timedlock, int, (pthread_mutex_t *, const struct timespec *))                  \
    X(pthread_mutex_clocklock, int, (pthread_mutex_t *, clockid_t, const struct timespec *))       \
    X(pthread_rwlock_rdlock, int, (pthread_rwlock_t *))                                            \
    X(pthread_rwlock_wrlock, int, (pthread_rwlock_t *))                                            \
    X(pthread_rwlock_tryrdlock, int, (pthread_rwlock_t *))                                         \
    X(pthread_rwlock_trywrlock, int, (pthread_rwlock_t *))                                         \
    X(pthread_rwlock_timedrdlock, int, (pthread_rwlock_t *, const struct timespec *))              \
    X(pthread_rwlock_timedwrlock, int, (pthread_rwlock_t *, const struct timespec *))              \
    X(pthread_rwlock_clockrdlock, int, (pthread_rwlock_t *, clockid_t, const struct timespec *))   \
    X(pthread_rwlock_clockwrlock, int, (pthread_rwlock_t *, clockid_t, const struct timespec *))   \
    X(pthread_rwlock_unlock, int, (pthread_rwlock_t *))                                            \
    X(pthread_spin_lock, int, (pthread_spinlock_t *))                                              \
    X(pthread_spin_trylock, int, (pthread_spinlock_t *))                                           \
    X(pthread_spin_unlock, int, (pthread_spinlock_t *))                                            \
    X(sem_wait, int, (sem_t *))                                                                    \
    X(sem_trywait, int, (sem_t *))                                                                 \
    X(sem_timedwait, int, (sem_t *, const struct timespec *))                                      \
    X(sem_clockwait, int, (sem_t *, clockid_t, const struct timespec *))                           \
    X(sem_post, int, (sem_t *))                                                                    \
    X(pthread_cond_wait, int, (pthread_cond_t *, pthread_mutex_t *))                               \
    X(pthread_cond_timedwait, int, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) \
    X(pthread_cond_clockwait, int,                                                                 \
      (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *))                   \
    X(pthread_cond_signal, int, (pthread_cond_t *))                                                \
    X(pthread_cond_broadcast, int, (pthread_cond_t *))                                             \
    X(pthread_barrier_wait, int, (pthread_barrier_t *))                                            \
    X(pthread_once, int, (pthread_once_t *, void (*)(void)))                                       \
    X(pthread_create, int, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))       \
    X(pthread_join, int, (pthread_t, void **))                                                     \
    X(pthread_tryjoin_np, int, (pthread_t, void **))                                               \
    X(pthread_timedjoin_np, int, (pthread_t, void **, const struct timespec *))                    \
    X(pthread_clockjoin_np, int, (pthread_t, void **, clockid_t, const struct timespec *))         \
    X(pthread_detach, int, (pthread_t))                                                            \
    X(pthread_cancel, int, (pthread_t))                                                            \
    X(pthread_exit, void, (void *))                                                                \
    /* clock.c */                                                                                  \
    X(clock_gettime, int, (clockid_t, struct timespec *))                                          \
    X(clock_getres, int, (clockid_t, struct timespec *))                                           \
    X(gettimeofday, int, (struct timeval *, void *))                                               \
    X(time, time_t, (time_t *))                                                                    \
    X(timespec_get, int, (struct timespec *, int))                                                 \
    X(times, clock_t, (struct tms *))                                                              \
    X(clock, clock_t, (void))                                                                      \
    X(getrusage, int, (int, struct rusage *))                                                      \
    /* sleep.c */                                                                                  \
    X(nanosleep, int, (const struct timespec *, struct timespec *))                                \
    X(clock_nanosleep, int, (clockid_t, int, const struct timespec *, struct timespec *))          \
    X(usleep, int, (useconds_t))                                                                   \
    X(sleep, unsigned, (unsigned))                                                                 \
    X(sched_yield, int, (void))                                                                    \
    X(sched_getaffinity, int, (pid_t, size_t, cpu_set_t *))                                        \
    X(pthread_getaffinity_np, int, (pthread_t, size_t, cpu_set_t *))                               \
    X(pause, int, (void))                                                                          \
    X(sigsuspend, int, (const sigset_t *))                                                         \
    X(sigtimedwait, int, (const sigset_t *, siginfo_t *, const struct timespec *))                 \
    X(sigwaitinfo, int, (const sigset_t *, siginfo_t *))                                           \
    X(sigwait, int, (const sigset_t *, int *))                                                     \
    /* child.c */                                                                                  \
    X(wait4, pid_t, (pid_t, int *, int, struct rusage *))                                          \
    X(waitid, int, (idtype_t, id_t, siginfo_t *, int))                                             \
    X(system, int, (const char *))                                                                 \
    X(_exit, void, (int))                                                                          \
    /* stream.c, socket.c, poll.c */                                                               \
    X(readv, ssize_t, (int, const struct iovec *, int))                                            \
    X(writev, ssize_t, (int, const struct iovec *, int))                                           \
    X(recv, ssize_t, (int, void *, size_t, int))                                                   \
    X(recvfrom, ssize_t, (int, void *, size_t, int, struct sockaddr *, socklen_t *))               \
    X(recvmsg, ssize_t, (int, struct msghdr *, int))                                               \
    X(send, ssize_t, (int, const void *, size_t, int))                                             \
    X(sendto, ssize_t, (int, const void *, size_t, int, const struct sockaddr *, socklen_t))       \
    X(sendmsg, ssize_t, (int, const struct msghdr *, int))                                         \
    X(connect, int, (int, const struct sockaddr *, socklen_t))                                     \
    X(accept, int, (int, struct sockaddr *, socklen_t *))                                          \
    X(accept4, int, (int, struct sockaddr *, socklen_t *, int))                                    \
    X(listen, int, (int, int))                                                                     \
    X(shutdown, int, (int, int))                                                                   \
    X(close, int, (int))                                                                           \
    X(dup2, int, (int, int))                                                                       \
    X(dup3, int, (int, int, int))                                                                  \
    X(flock, int, (int, int))                                                                      \
    X(select, int, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                          \
    X(pselect, int,                                                                                \
      (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))              \
    X(epoll_wait, int, (int, struct epoll_event *, int, int))                                      \
    X(epoll_pwait, int, (int, struct epoll_event *, int, int, const sigset_t *))                   \
    X(epoll_pwait2, int,                                                                           \
      (int, struct epoll_event *, int, const struct timespec *, const sigset_t *))                 \
    X(__read_chk, ssize_t, (int, void *, size_t, size_t))                                          \
    X(__recv_chk, ssize_t, (int, void *, size_t, size_t, int))                                     \
    X(__recvfrom_chk, ssize_t, (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)) \
    X(__poll_chk, int, (struct pollfd *, nfds_t, int, size_t))                                     \
    X(__ppoll_chk, int,                                                                            \
      (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t))                \
    /* path.c */                                                                                   \
    X(open, int, (const char *, int, ...))                                                         \
    X(openat, int, (int, const char *, int, ...))                                                  \
    X(__open_2, int, (const char *, int))                                                          \
    X(__openat_2, int, (int, const char *, int))                                                   \
    X(fopen, FILE *, (const char *, const char *))                                                 \
    X(stat, int, (const char *, struct stat *))                                                    \
    X(lstat, int, (const char *, struct stat *))                                                   \
    X(fstatat, int, (int, const char *, struct stat *, int))                                       \
    X(stat64, int, (const char *, struct stat64 *))                                                \
    X(lstat64, int, (const char *, struct stat64 *))                                               \
    X(fstatat64, int, (int, const char *, struct stat64 *, int))                                   \
    X(statx, int, (int, const char *, int, unsigned, struct statx *))                              \
    X(__xstat, int, (int, const char *, struct stat *))                                            \
    X(__lxstat, int, (int, const char *, struct stat *))                                           \
    X(__fxstatat, int, (int, int, const char *, struct stat *, int))                               \
    X(access, int, (const char *, int))                                                            \
    X(faccessat, int, (int, const char *, int, int))                                               \
    X(readlink, ssize_t, (const char *, char *, size_t))                                           \
    X(readlinkat, ssize_t, (int, const char *, char *, size_t))                                    \
    X(__readlink_chk, ssize_t, (const char *, char *, size_t, size_t))                             \
    X(realpath, char *, (const char *, char *))                                                    \
    X(__realpath_chk, char *, (const char *, char *, size_t))                                      \
    X(opendir, DIR *, (const char *))                                                              \
    X(scandir, int,                                                                                \
      (const char *, struct dirent ***, int (*)(const struct dirent *),                            \
       int (*)(const struct dirent **, const struct dirent **)))                                   \
    /* alarm.c */                                                                                  \
    X(alarm, unsigned, (unsigned))                                                                 \
    X(setitimer, int, (int, const struct itimerval *, struct itimerval *))                         \
    X(getitimer, int, (int, struct itimerval *))                                                   \
    X(timer_create, int, (clockid_t, struct sigevent *, timer_t *))                                \
    X(timer_delete, int, (timer_t))                                                                \
    X(timer_settime, int, (timer_t, int, const struct itimerspec *, struct itimerspec *))          \
    X(timer_gettime, int, (timer_t, struct itimerspec *))                                          \
    X(timer_getoverrun, int, (timer_t))                                                            \
    X(timerfd_create, int, (int, int))                                                             \
    X(timerfd_settime, int, (int, int, const struct itimerspec *, struct itimerspec *))            \
    X(timerfd_gettime, int, (int, struct itimerspec *))                                            \
    X(read, ssize_t, (int, void *, size_t))                                                        \
    X(write, ssize_t, (int, const void *, size_t))                                                 \
    X(poll, int, (struct pollfd *, nfds_t, int))                                                   \
    X(ppoll, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))            \
    /* signal.c */                                                                                 \
    X(sigaction, int, (int, const struct sigaction *, struct sigaction *))                         \
    X(signal, __sighandler_t, (int, __sighandler_t))                                               \
    X(__sysv_signal, __sighandler_t, (int, __sighandler_t))                                        \
    X(pthread_sigmask, int, (int, const sigset_t *, sigset_t *))                                   \
    X(sigprocmask, int, (int, const sigset_t *, sigset_t *))                                       \
    /* sent.c */                                                                                   \
    X(kill, int, (pid_t, int))                                                                     \
    X(sigqueue, int, (pid_t, int, const union sigval))                                             \
    X(pthread_kill, int, (pthread_t, int))                                                         \
    X(pthread_sigqueue, int, (pthread_t, int, const union sigval))                                 \
    X(tgkill, int, (pid_t, pid_t, int))                                                            \
    /* stdio.c */                                                                                  \
    X(fdopen, FILE *, (int, const char *))                                                         \
    X(popen, FILE *, (const char *, const char *))                                                 \
    X(pclose, int, (FILE *))                                                                       \
    /* ipc.c */                                                                                    \
    X(fcntl, int, (int, int, ...))                                                                 \
    X(lockf, int, (int, int, off_t))                                                               \
    X(semop, int, (int, struct sembuf *, size_t))                                                  \
    X(semtimedop, int, (int, struct sembuf *, size_t, const struct timespec *))                    \
    X(msgsnd, int, (int, const void *, size_t, int))                                               \
    X(msgrcv, ssize_t, (int, void *, size_t, long, int))                                           \
    X(close_range, int, (unsigned, unsigned, int))                                                 \
    X(clone, int, (int (*)(void *), void *, int, void *, ...))                                     \
    X(_Fork, pid_t, (void))                                                                        \
    X(semctl, int, (int, int, int, ...))                                                           \
    X(msgctl, int, (int, int, struct msqid_ds *))                                                  \
    X(mq_send, int, (mqd_t, const char *, size_t, unsigned))                                       \
    X(mq_receive, ssize_t, (mqd_t, char *, size_t, unsigned *))                                    \
    X(mq_timedsend, int, (mqd_t, const char *, size_t, unsigned, const struct timespec *))         \
    X(mq_timedreceive, ssize_t, (mqd_t, char *, size_t, unsigned *, const struct timespec *))      \
    X(fclose, int, (FILE *))                                                                       \
    /* lookup.c */                                                                                 \
    X(getaddrinfo, int, (const char *, const char *, const struct addrinfo *, struct addrinfo **)) \
    X(getnameinfo, int,                                                                            \
      (const struct sockaddr *, socklen_t, char *, socklen_t, char *, socklen_t, int))             \
    X(gethostbyname, struct hostent *, (const char *))                                             \
    X(gethostbyname2, struct hostent *, (const char *, int))                                       \
    X(gethostbyname_r, int,                                                                        \
      (const char *, struct hostent *, char *, size_t, struct hostent **, int *))                  \
    X(gethostbyname2_r, int,                                                                       \
      (const char *, int, struct hostent *, char *, size_t, struct hostent **, int *))             \
    X(gethostbyaddr, struct hostent *, (const void *, socklen_t, int))                             \
    X(gethostbyaddr_r, int,                                                                        \
      (const void *, socklen_t, int, struct hostent *, char *, size_t, struct hostent **, int *))  \
    X(res_query, int, (const char *, int, int, unsigned char *, int))                              \
    X(res_search, int, (const char *, int, int, unsigned char *, int))                             \
    X(res_nquery, int, (struct __res_state *, const char *, int, int, unsigned char *, int))       \
    X(res_nsearch, int, (struct __res_state *, const char *, int, int, unsigned char *, int))      \
    X(res_send, int, (const unsigned char *, int, unsigned char *, int))                           \
    X(res_nsend, int, (struct __res_state *, const unsigned char *, int, unsigned char *, int))    \
    /* splice.c */                                                                                 \
    X(sendfile, ssize_t, (int, int, off_t *, size_t))                                              \
    X(splice, ssize_t, (int, off64_t *, int, off64_t *, size_t, unsigned))                         \
    X(tee, ssize_t, (int, int, size_t, unsigned))                                                  \
    X(vmsplice, ssize_t, (int, const struct iovec *, size_t, unsigned))                            \
    /* many.c */                                                                                   \
    X(recvmmsg, int, (int, struct mmsghdr *, unsigned, int, struct timespec *))                    \
    X(sendmmsg, int, (int, struct mmsghdr *, unsigned, int))                                       \
    X(preadv2, ssize_t, (int, const struct iovec *, int, off_t, int))                              \
    X(pwritev2, ssize_t, (int, const struct iovec *, int, off_t, int))                             \
    /* dl.c */                                                                                     \
    X(dlopen, void *, (const char *, int))

struct real_calls {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration, where parentheses mean otherwise
#define X(name, result, params) result(*name) params;
    REAL_LIST(X)
#undef X
};

extern struct real_calls real_calls;
extern _Atomic bool real_is_ready;
void real_find_all(void);

static inline const struct real_calls *real_get(void)
{
    if (!atomic_load_explicit(&real_is_ready, memory_order_acquire))
        real_find_all();
    return &real_calls;
}

#define REAL(name) (real_get()->name)

#endif
