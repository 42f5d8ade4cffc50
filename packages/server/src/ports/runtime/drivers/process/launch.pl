# Starts workloads for the process driver: one process, asked over descriptor 0, whose children are the first processes
# of workloads and run the guest agent without starting another program. A workload's frames go over a socket that its
# first process opens in this one's directory. All end with this process, and this with the platform.
package Launch;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../../agent/agent.pl";
    require "$driver/$_.pl" for qw(../../network/link limits root image system);
}

sub CLONE_NEWNS ()     { 0x20000 }
sub CLONE_NEWCGROUP () { 0x2000000 }
sub CLONE_NEWUTS ()    { 0x4000000 }
sub CLONE_NEWIPC ()    { 0x8000000 }
sub CLONE_NEWUSER ()   { 0x10000000 }
sub CLONE_NEWPID ()    { 0x20000000 }
sub CLONE_NEWNET ()    { 0x40000000 }
sub SIGCHLD ()         { 17 }

my %workloads;
my $input = '';
# Shuts a new process in, which then is the agent; another driver has another way, and starts the agent itself.
our $isolate = \&isolate;
# Gets what the children of several launches share.
our $prepare = sub { };
# Those that a workload's first process enters here; what begins in some of them already leaves these out.
our $namespaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

sub report {
    my $line = "@_\n";
    syswrite STDOUT, $line;
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!\n";
    defined syswrite $file, $text or die "$path: $!\n";
}

# Does from outside what the workload's first process cannot do itself, or would wait for: to join control groups takes
# the kernel longer than all the rest, so it happens beside that. Then, when the other tells that it is in its user
# namespace, says which of the machine's users are meant there: ones that nobody else is.
sub begin_helper {
    my ($asked, $has_one_user) = @_;
    # As the machine counts, whose /proc this is.
    my $pid = readlink '/proc/self';
    pipe my $entered, my $teller or die "pipe: $!\n";
    pipe my $joined,  my $joiner or die "pipe: $!\n";
    my $helper = fork;
    die "fork: $!\n" unless defined $helper;
    return { pid => $helper, teller => $teller, joined => $joined } if $helper;
    close $teller;
    eval {
        write_file($_, '1') for @{ $asked->{group} };
        syswrite $joiner, 'joined';
        sysread $entered, my ($ready), 1;
        if (!$has_one_user) {
            # The kernel asks it of who made the namespace.
            Limits::act_as($asked->{uid_base});
            write_file("/proc/$pid/${_}_map", "0 $asked->{uid_base} $asked->{uid_count}") for qw(uid gid);
        }
        1;
    } or do {
        syswrite $joiner, $@;
        Kernel::leave(1);
    };
    Kernel::leave(0);
}

sub await_groups {
    my ($helper) = @_;
    my $count = sysread $helper->{joined}, my ($told), 1024;
    die $count ? $told : "control groups: no answer\n" unless $count && $told eq 'joined';
}

sub enter_cgroup_namespace {
    my ($helper) = @_;
    await_groups($helper);
    Kernel::must('cgroup namespace', 'unshare', CLONE_NEWCGROUP);
}

# `settings` are those of Limits.
sub enter_user_namespace {
    my ($helper, $maker, $settings) = @_;
    Limits::of_processes();
    Limits::act_as($maker);
    Kernel::must('user namespace', 'unshare', CLONE_NEWUSER);
    close $helper->{teller};
    waitpid $helper->{pid}, 0;
    if ($?) {
        sysread $helper->{joined}, my ($told), 1024;
        die 'user namespace: ', $told // 'no answer', "\n";
    }
    Kernel::must('groups', 'setgroups', 0, 0);
    Kernel::must('group', 'setresgid', 0, 0, 0);
    Kernel::must('user', 'setresuid', 0, 0, 0);
    Limits::in_namespace($settings);
}

# The launcher made the namespace.
sub enter_as_one_user {
    my ($asked) = @_;
    my ($uid, $gid) = @$asked{qw(uid_base gid_base)};
    write_file('/proc/self/setgroups', 'deny');
    write_file('/proc/self/uid_map', "0 $uid 1");
    write_file('/proc/self/gid_map', "0 $gid 1");
    Limits::in_namespace(Limits::settings(), 1);
    # Not before: what all workloads have together, which is that one user's, would have to keep to the limits of one.
    Limits::of_processes(1);
}

sub set_limits {
    my ($asked) = @_;
    Limits::set(Limits::RLIMIT_CORE, 0, 0);
    Limits::set(Limits::RLIMIT_NPROC, ($asked->{processes_max}) x 2) if $asked->{processes_max};
    Limits::lower(Limits::RLIMIT_NOFILE, $asked->{files_max}) if $asked->{files_max};
}

sub become_workload {
    my ($asked) = @_;
    socket my $platform, 1, 1, 0 or die "socket: $!\n";
    connect $platform, pack 'S a*', 1, "guests.sock\0" or die "platform: $!\n";
    Kernel::must('descriptor', 'dup3', fileno $platform, $_, 0) for 0, 1;
    close $platform;
    syswrite STDOUT, "$asked->{ticket}\n";
    eval {
        $isolate->($asked);
        1;
    } or do {
        chomp(my $error = $@);
        my $payload = Agent::words('unavailable', $error);
        syswrite STDOUT, pack('NCN', 5 + length $payload, 3, 0) . $payload;
        Kernel::leave(1);
    };
    Loop::clear();
    Agent::run();
}

sub isolate {
    my ($asked) = @_;
    my $has_one_user = $Agent::has_one_user = $asked->{uid_count} == 1;
    enter_as_one_user($asked) if $has_one_user;
    my $settings = Limits::settings();
    my $helper = begin_helper($asked, $has_one_user);
    Kernel::must('namespaces', 'unshare', $namespaces);
    Kernel::must('host name', 'sethostname', $asked->{hostname}, length $asked->{hostname});
    Link::begin(@$asked{qw(link device)});
    Root::build($asked, $has_one_user ? 0 : $asked->{uid_base});
    set_limits($asked);
    Kernel::must('session', 'setsid');
    enter_cgroup_namespace($helper);
    $has_one_user ? close $helper->{teller} : enter_user_namespace($helper, $asked->{uid_base}, $settings);
    close $settings if $settings;
    $Agent::filter = pack 'H*', $asked->{filter} || '';
    Kernel::keep_capabilities($has_one_user ? 31 : ());
    # PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE, PR_SET_PDEATHSIG: nobody in the workload may look into this process.
    Kernel::must('privileges', 'prctl', 38, 1, 0, 0, 0);
    Kernel::must('privileges', 'prctl', 4,  0, 0, 0, 0);
    Kernel::must('signal',     'prctl', 1,  9, 0, 0, 0);
    open STDERR, '>', '/dev/null';
    %ENV = ();
    $0 = 'svc-agent';
}

# Names and values by turns; a name that comes again makes a list.
sub parse {
    my %asked = (group => [], mount => []);
    while (my ($name, $value) = splice @_, 0, 2) {
        ref $asked{$name} ? push @{ $asked{$name} }, $value : ($asked{$name} = $value);
    }
    return \%asked;
}

sub launch {
    my ($asked) = @_;
    eval { $prepare->($asked); 1 } or return report('failed', $asked->{ticket}, $@ =~ s/\n//gr);
    # The others are made by the child: of these, several are made at once.
    my $flags = CLONE_NEWPID | SIGCHLD | ($asked->{uid_count} == 1 ? CLONE_NEWUSER : 0);
    my $pid = Kernel::call('clone', $flags, 0, 0, 0, 0);
    return report('failed', $asked->{ticket}, "namespaces: $!") unless defined $pid;
    if ($pid == 0) {
        become_workload($asked);
        Kernel::leave(1);
    }
    $workloads{$pid} = $asked->{ticket};
    report('started', $asked->{ticket}, $pid);
}

sub receive {
    my $count = sysread STDIN, $input, 65_536, length $input;
    Kernel::leave(0) unless $count;
    while (length $input >= 4 && length $input >= 4 + unpack 'N', $input) {
        my ($words) = unpack 'N/a*', $input;
        substr $input, 0, 4 + length $words, '';
        launch(parse(unpack '(N/a*)*', $words));
    }
}

sub reap {
    while ((my $pid = waitpid -1, 1) > 0) {
        my $ticket = delete $workloads{$pid};
        report('ended', $ticket, $? >> 8, $? & 127) if defined $ticket;
    }
}

sub run {
    Kernel::close_others();
    $0 = 'svc-launcher';
    my $children = Kernel::child_news();
    Loop::read_from(\*STDIN, \&receive);
    Loop::read_from($children, sub { sysread $children, my ($news), 4096; reap() });
    Loop::turn(0) while 1;
}

run() unless caller;
1;
