#!/usr/bin/perl
# The first process of a guest. Makes what all guests have, then is told which one it is: it may have been copied before
# that. In it a workload is shut in as one of the machine's own is, and is ended by this process.
package Init;
use strict;
use warnings;

BEGIN { require "/svc/drivers/$_.pl" for qw(process/launch qemu/relay) }

my ($AGENT, $CONTROL, $SHARE) = 1 .. 3;
# Programs that each command begins with, read once for all copies.
my $usual = 'perl -e 1; id; cat /dev/null; ls -l /usr/bin/env; env; sleep 0; head -c 1 /proc/stat';

# Parts of the kernel, in the order of their names.
sub modules {
    my ($directory) = @_;
    opendir my $listing, $directory or return;
    return map {
        sysopen my $file, "$directory/$_", Kernel::O_RDONLY or die "$_: $!\n";
        $file;
    } sort grep { /\.ko$/ } readdir $listing;
}

sub load { Kernel::must('module', 'finit_module', fileno $_[0], '', 0) }

# Where nobody looks at a console there are no descriptors 0 to 2, which others expect.
sub fill_descriptors {
    my @held;
    do { sysopen my $null, '/dev/null', 2 or return; push @held, $null } until fileno $held[-1] > 2;
    Kernel::call('dup3', fileno $held[-1], $_, 0) for 0 .. 2;
}

sub until_true {
    my ($what, $is_true) = @_;
    for (1 .. 2_000) {
        my $given = $is_true->();
        return $given if $given;
        select undef, undef, undef, 0.005;
    }
    die "$what did not come\n";
}

# The other side is there when reading says that there is nothing yet, and not that there is an end.
sub port {
    my ($number) = @_;
    my $port = until_true("port $number", sub { sysopen my $found, "/dev/vport0p$number", 2 or return; $found });
    Kernel::nonblocking($port);
    until_true("port $number", sub { !defined sysread($port, my ($nothing), 1) && $! == Kernel::EAGAIN });
    return $port;
}

# Links in /tmp that are their user's own are to be followed by the agent too, which looks at where they lead.
sub mount_kernels_own {
    Root::mount('svc', '/host/dev', 'devtmpfs', 0);
    Root::mount('svc', '/host/proc', 'proc', 0);
    Launch::write_file('/host/proc/sys/fs/protected_symlinks', 0);
    Root::mount('svc', '/host/cgroup', 'cgroup2', 0);
    Launch::write_file('/host/cgroup/cgroup.subtree_control', '+memory +pids');
}

# The machine's files become the root of all that is started here.
sub enter_share {
    my ($port) = @_;
    sysopen my $fuse, '/dev/fuse', 2 or die "files of the machine: $!\n";
    my $relay = fork // die "relay: $!\n";
    Relay::run($fuse, $port) unless $relay;
    my $flags = Root::MS_RDONLY | Root::MS_NOSUID | Root::MS_NODEV;
    my $options = 'rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions,max_read=131072';
    mkdir '/host', 0755;
    Root::mount('svc', '/host', 'fuse', $flags, 'fd=' . fileno($fuse) . ",$options");
    close $fuse;
    close $port;
    mount_kernels_own();
    chdir '/host' or die "root: $!\n";
    Root::mount('.', '/', '', 8192);
    chroot '.' or die "root: $!\n";
    chdir '/';
}

sub warm {
    my $pid = fork // return;
    return waitpid $pid, 0 if $pid;
    open $_, '>', '/dev/null' for \*STDOUT, \*STDERR;
    exec '/bin/sh', '-c', $usual or Kernel::leave(1);
}

# A copy has the machine's numbers and time of when it was made. RNDADDENTROPY, RNDRESEEDCRNG (random(4))
sub become_another {
    my ($asked) = @_;
    my $seed = $asked->{seed};
    sysopen my $random, '/dev/urandom', 1 or die "random numbers: $!\n";
    ioctl $random, 0x40085203, pack 'i2 a*', 8 * length $seed, length $seed, $seed or die "random numbers: $!\n";
    ioctl $random, 0x5207, 0 or die "random numbers: $!\n";
    Kernel::must('time', 'clock_settime', 0, pack 'qq', $asked->{seconds}, 0);
}

# Memory that this guest may not have is set aside, in pages of 2 MiB that nobody ever touches.
sub limit {
    my ($asked) = @_;
    Launch::write_file('/proc/sys/vm/nr_hugepages', $asked->{pages_aside}) if $asked->{pages_aside};
    mkdir '/cgroup/workload', 0755 or die "control group: $!\n";
    Launch::write_file('/cgroup/workload/memory.max', $asked->{memory_bytes});
    Launch::write_file('/cgroup/workload/pids.max', $asked->{processes_max} + 1);
    return '/cgroup/workload/cgroup.procs';
}

# The workload's first process, as far as it is the same for all copies: a network of its own takes a guest the longest.
# It waits for what is asked.
sub begin_workload {
    my ($agent, @others) = @_;
    pipe my $asked, my $teller or die "pipe: $!\n";
    pipe my $begun, my $beginner or die "pipe: $!\n";
    my $pid = Kernel::must('process', 'clone', Launch::CLONE_NEWPID | Launch::SIGCHLD, 0, 0, 0, 0);
    if ($pid) {
        close $beginner;
        sysread $begun, my ($nothing), 1;
        return ($pid, $teller);
    }
    close $_ for @others, $teller, $begun;
    Kernel::must('descriptor', 'dup3', fileno $agent, $_, 0) for 0, 1;
    close $agent;
    eval {
        $Agent::has_own_kernel = 1;
        Kernel::must('namespaces', 'unshare', $Launch::namespaces & ~Launch::CLONE_NEWNS);
        $Launch::namespaces = Launch::CLONE_NEWNS;
        Link::raise('lo');
        close $beginner;
        local $/;
        Launch::isolate(Launch::parse(unpack '(N/a*)*', scalar <$asked>));
        1;
    } or do {
        chomp(my $error = $@);
        my $payload = Agent::words('unavailable', $error);
        syswrite STDOUT, pack('NCN', 5 + length $payload, 3, 0) . $payload;
        Kernel::leave(1);
    };
    Agent::run();
}

sub read_exactly {
    my ($port, $length) = @_;
    my $bytes = '';
    while (length $bytes < $length) {
        vec(my $wanted = '', fileno $port, 1) = 1;
        select $wanted, undef, undef, undef;
        my $count = sysread $port, $bytes, $length - length $bytes, length $bytes;
        die "the machine is gone\n" if defined $count && $count == 0;
    }
    return $bytes;
}

# Until the workload has ended by itself, or is to end; then all that it wrote is on its disk.
sub wait_for {
    my ($pid, $control) = @_;
    my $children = Kernel::child_news();
    my $is_over = 0;
    Loop::read_from($control, sub { sysread $control, my ($words), 64; kill 9, $pid });
    Loop::read_from($children, sub {
        sysread $children, my ($news), 4096;
        while ((my $ended = waitpid -1, 1) > 0) { $is_over = 1 if $ended == $pid }
    });
    Loop::turn(0) until $is_over;
    Kernel::call('sync');
    syswrite $control, Commands::out_of_memory_kills() ? "ended out of memory\n" : "ended\n";
}

sub run {
    my ($control) = @_;
    # A disk is looked at when its module is loaded: that of a copy is another one.
    my @late = modules('/modules/late');
    my $agent = port($AGENT);
    enter_share(port($SHARE));
    warm();
    my ($pid, $teller) = begin_workload($agent, $control);
    close $agent;
    syswrite $control, "ready\n";
    my $words = read_exactly($control, unpack 'N', read_exactly($control, 4));
    my $asked = Launch::parse(unpack '(N/a*)*', $words);
    become_another($asked);
    my $group = limit($asked);
    if ($asked->{disk} =~ /^device:(.*)/) {
        my $device = $1;
        load($_) for @late;
        until_true('the disk', sub { -b $device });
    }
    print {$teller} $words, pack '(N/a*)*', group => $group;
    close $teller;
    wait_for($pid, $control);
}

mkdir "/$_", 0755 for qw(dev proc);
Root::mount('svc', '/dev', 'devtmpfs', 0);
Root::mount('svc', '/proc', 'proc', 0);
fill_descriptors();
$0 = 'svc-init';
load($_) for modules('/modules/early');
my $control = port($CONTROL);
eval { run($control); 1 } or syswrite $control, "failed $@";
select undef, undef, undef, undef while 1;
