# Bounds on what the kernel counts per user: inotify instances, timers, signals, message queues, namespaces. What a user
# namespace uses also counts for the user who made it, up to the limits that he had then (user_namespaces(7),
# getrlimit(2)). So each workload's namespace is made by a user of its own, whose limits are the workload's as a whole.
package Limits;
use strict;
use warnings;

sub RLIMIT_CORE ()       { 4 }
sub RLIMIT_NPROC ()      { 6 }
sub RLIMIT_NOFILE ()     { 7 }
sub RLIMIT_MEMLOCK ()    { 8 }
sub RLIMIT_SIGPENDING () { 11 }
sub RLIMIT_MSGQUEUE ()   { 12 }

# A timer holds a signal that is pending. Kernels give every user that many bytes of queues.
sub SIGNALS_MAX ()     { 4_096 }
sub QUEUE_BYTES_MAX () { 819_200 }
sub LOCKED_BYTES_MAX () { 8 << 20 }
# Where all workloads have one user, none may have all that is his.
sub SHARED_QUEUE_BYTES_MAX () { 204_800 }
sub INSTANCES_MAX ()          { 128 }
sub SHARED_INSTANCES_MAX ()   { 32 }
sub WATCHES_MAX ()            { 65_536 }
# bwrap makes one of each kind.
sub NAMESPACES_MAX ()        { 8 }
sub SHARED_NAMESPACES_MAX () { 4_096 }

sub set {
    my ($resource, $soft, $hard) = @_;
    Kernel::must('limit', 'prlimit64', 0, $resource, pack('QQ', $soft, $hard), 0);
}

# Never raises one: only the machine's root may.
sub lower {
    my ($resource, $most) = @_;
    my (undef, $hard) = unpack 'QQ', Kernel::filled('limit', 'prlimit64', 16, 0, $resource, 0);
    $most = $hard if $hard < $most;
    set($resource, $most, $most);
}

# Of processes, and of the user namespaces that they make.
sub of_processes {
    my ($is_shared) = @_;
    lower(RLIMIT_SIGPENDING, SIGNALS_MAX);
    lower(RLIMIT_MSGQUEUE,   $is_shared ? SHARED_QUEUE_BYTES_MAX : QUEUE_BYTES_MAX);
    lower(RLIMIT_MEMLOCK,    LOCKED_BYTES_MAX);
}

# Makes this process the given user of the machine, with the capabilities that it has.
sub act_as {
    my ($uid) = @_;
    # A text would be handed over as the place where it is.
    Kernel::must('user', 'setresuid', -1, $uid + 0, -1);
    my $header = pack 'LL', 0x20080522, 0;
    my @sets = unpack 'L6', Kernel::filled('capabilities', 'capget', 24, $header);
    # In each half: effective, permitted, inheritable.
    @sets[0, 3] = @sets[1, 4];
    Kernel::must('capabilities', 'capset', $header, pack 'L6', @sets);
}

# The directory of settings that are those of the user namespace of who opens them, to be used where /proc is not seen.
sub settings {
    sysopen my $directory, '/proc/sys/user', Kernel::O_PATH | Kernel::O_DIRECTORY | Kernel::O_CLOEXEC or return undef;
    return $directory;
}

# In the namespace. A container's settings cannot be written: there the limits of who made the namespace must do.
sub in_namespace {
    my ($settings, $is_shared) = @_;
    return unless $settings;
    my %counts = (
        (map { $_ => NAMESPACES_MAX } qw(cgroup_namespaces ipc_namespaces mnt_namespaces net_namespaces pid_namespaces
            time_namespaces uts_namespaces)),
        # Where all have one user each command has a namespace of its own.
        user_namespaces   => $is_shared ? SHARED_NAMESPACES_MAX : 0,
        inotify_instances => $is_shared ? SHARED_INSTANCES_MAX : INSTANCES_MAX,
        inotify_watches   => WATCHES_MAX,
        fanotify_groups   => 0,
    );
    for my $name (keys %counts) {
        my $flags = Kernel::O_WRONLY | Kernel::O_CLOEXEC;
        my $fd = Kernel::call('openat', fileno $settings, "max_$name", $flags, 0);
        next unless defined $fd;
        Kernel::call('write', $fd, "$counts{$name}", length $counts{$name});
        Kernel::call('close', $fd);
    }
}

1;
