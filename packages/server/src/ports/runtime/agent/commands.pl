# Commands: their start, their end, their signals.
package Commands;
use strict;
use warnings;

sub USER_ID () { 1000 }

# Each command has a group of its own beside those of its user. Children inherit it and only root could lay it down, so
# it tells what a command started, also when that made itself a session and another parent.
my ($mark_first, $mark_count, $mark_next) = (20_000, 40_000, 0);
my %marks;
my %by_pid;
my $is_stopping = 0;

my %default_environment = (
    PATH => '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG => 'C.UTF-8',
);

sub next_mark {
    $mark_next = ($mark_next + 1) % $mark_count while $marks{ $mark_first + $mark_next };
    my $mark = $mark_first + $mark_next;
    $mark_next = ($mark_next + 1) % $mark_count;
    return $mark;
}

# user, cwd, columns, rows (0: no terminal), number of arguments, arguments, environment
sub start {
    my ($id, $user, $cwd, $columns, $rows, $count, @rest) = @_;
    my @arguments = splice @rest, 0, $count;
    return Agent::fail($id, 'unavailable', 'the workload is stopping') if $is_stopping;
    my $terminal = $columns ? open_terminal($columns, $rows, $user) : undef;
    my (@mine, @theirs);
    if (!$terminal) {
        pipe($theirs[0], $mine[0]) && pipe($mine[1], $theirs[1]) && pipe($mine[2], $theirs[2]) or die "pipe: $!\n";
    }
    pipe my $news, my $teller or die "pipe: $!\n";
    my $mark = next_mark();
    my $pid = fork;
    die "fork: $!\n" unless defined $pid;
    if ($pid == 0) {
        eval {
            become($user, $mark, $terminal ? $terminal->{path} : undef, \@theirs, $teller);
            %ENV = environment($user, $terminal, @rest);
            chdir $cwd or die "directory $cwd: $!\n";
            filter();
            exec { $arguments[0] } @arguments or die "$arguments[0]: $!\n";
        };
        chomp(my $error = $@);
        syswrite $teller, $error;
        Kernel::leave(127);
    }
    close $_ for @theirs, $teller;
    my $channel = Agent::channel($id);
    $channel->{pid}  = $pid;
    $channel->{mark} = $mark;
    $marks{$mark}    = $id;
    $by_pid{$pid}    = $id;
    Kernel::nonblocking($news);
    my $told = '';
    Loop::read_from($news, sub {
        my $count = sysread $news, $told, 1024, length $told;
        return if $count || !defined $count && $! == Kernel::EAGAIN;
        Loop::forget($news);
        return unless Agent::channel($id);
        $channel->{mark} = $1 if $told =~ s/^mark (\d+)\n//;
        return begun($id, $terminal, @mine) if $told eq '';
        delete $by_pid{$pid};
        delete $marks{$mark};
        Agent::fail($id, 'refused', $told);
    });
}

sub begun {
    my ($id, $terminal, @mine) = @_;
    my $channel = Agent::channel($id);
    Agent::send_frame('opened', $id, pack 'N', $channel->{mark});
    if ($terminal) {
        my $master = $channel->{terminal} = $terminal->{master};
        open my $copy, '>&', $master or die "terminal: $!\n";
        # The end of input is what a terminal's user would press.
        Agent::sink($id, 0, $copy, sub { syswrite $_[0], "\x04"; close $_[0] });
        Agent::source($id, 1, $master);
        $channel->{sources}{1}{is_terminal} = 1;
    } else {
        Agent::sink($id, 0, $mine[0]);
        Agent::source($id, $_, $mine[$_]) for 1, 2;
    }
    ended($id) if exists $channel->{status};
}

sub open_terminal {
    my ($columns, $rows, $user) = @_;
    sysopen my $master, '/dev/ptmx', 2 or die "terminal: $!\n";
    my $unlocked = pack 'i', 0;
    ioctl $master, 0x40045431, $unlocked or die "terminal: $!\n";
    my $number = pack 'i', 0;
    ioctl $master, 0x80045430, $number or die "terminal: $!\n";
    my $path = '/dev/pts/' . unpack 'i', $number;
    chown USER_ID, -1, $path if $user ne 'root' && !$Agent::has_one_user;
    set_size($master, $columns, $rows);
    return { master => $master, path => $path };
}

sub set_size {
    my ($terminal, $columns, $rows) = @_;
    my $size = pack 'S4', $rows, $columns, 0, 0;
    ioctl $terminal, 0x5414, $size;
}

sub resize {
    my ($channel, $columns, $rows) = @_;
    set_size($channel->{terminal}, $columns, $rows) if $channel->{terminal};
}

sub dup_to {
    my ($handle, $fd) = @_;
    Kernel::must('descriptor', 'dup3', fileno $handle, $fd, 0);
}

sub become {
    my ($user, $mark, $terminal, $pipes, $teller) = @_;
    Kernel::default_signals();
    Kernel::must('session', 'setsid');
    if ($terminal) {
        sysopen my $slave, $terminal, 2 | Kernel::O_NOCTTY or die "terminal: $!\n";
        ioctl $slave, 0x540e, 0 or die "terminal: $!\n";
        dup_to($slave, $_) for 0 .. 2;
    } else {
        # They are all above 2, where the agent's own stand.
        dup_to($pipes->[$_], $_) for 0 .. 2;
    }
    # What runs out of memory is a command, not the agent.
    my $score = Kernel::call('openat', Kernel::AT_FDCWD, '/proc/self/oom_score_adj', Kernel::O_WRONLY | Kernel::O_CLOEXEC, 0);
    Kernel::call('write', $score, '300', 3) if defined $score;
    umask 022;
    return become_in_one_user($user, $teller) if $Agent::has_one_user;
    my $uid = $user eq 'root' ? 0 : USER_ID;
    Kernel::must('groups', 'setgroups', 2, pack 'L2', $uid, $mark);
    Kernel::must('group', 'setresgid', $uid, $uid, $uid);
    Kernel::must('user', 'setresuid', $uid, $uid, $uid);
}

# Where all processes are one user of the machine's, the other names for him are those of user namespaces. Each command
# has its own, which tells what it started.
sub become_in_one_user {
    my ($user, $teller) = @_;
    Kernel::must('user namespace', 'unshare', 0x10000000);
    # PR_SET_DUMPABLE: as the agent is, its own files in /proc would not be its own.
    Kernel::must('privileges', 'prctl', 4, 1, 0, 0, 0);
    my $id = $user eq 'root' ? 0 : USER_ID;
    for (['setgroups', 'deny'], ['uid_map', "$id 0 1"], ['gid_map', "$id 0 1"]) {
        my ($name, $text) = @$_;
        open my $file, '>', "/proc/self/$name" or die "$name: $!\n";
        defined syswrite $file, $text or die "$name: $!\n";
    }
    Kernel::keep_capabilities();
    my ($number) = readlink('/proc/self/ns/user') =~ /(\d+)/;
    syswrite $teller, "mark $number\n";
}

sub environment {
    my ($user, $terminal, @given) = @_;
    my $is_root = $user eq 'root';
    my %environment = (
        %default_environment,
        HOME    => $is_root ? '/root' : '/home/user',
        USER    => $is_root ? 'root' : 'user',
        LOGNAME => $is_root ? 'root' : 'user',
        SHELL   => -x '/bin/bash' ? '/bin/bash' : '/bin/sh',
        ($terminal ? (TERM => 'xterm-256color') : ()),
    );
    for (@given) {
        my ($name, $value) = split /=/, $_, 2;
        $environment{$name} = $value;
    }
    return %environment;
}

sub filter {
    Kernel::must('privileges', 'prctl', 38, 1, 0, 0, 0);
    return unless length $Agent::filter;
    my $program = pack 'S x6 P', length($Agent::filter) / 8, $Agent::filter;
    Kernel::must('filter', 'seccomp', 1, 0, $program);
}

sub reap {
    while ((my $pid = waitpid -1, 1) > 0) {
        my $status = $?;
        my $id = delete $by_pid{$pid};
        next unless defined $id && Agent::channel($id);
        my $channel = Agent::channel($id);
        $channel->{status} = $status;
        ended($id) if %{ $channel->{sources} };
    }
    leave_if_last() if $is_stopping;
}

sub ended {
    my ($id) = @_;
    my $channel = Agent::channel($id);
    my $status = $channel->{status};
    delete $marks{ $channel->{mark} };
    Agent::finish_sources($id);
    Agent::send_frame('exited', $id, pack 'NN', $status >> 8, $status & 127);
    delete $channel->{pid};
    Agent::settle($id);
}

# SIGKILL ends all that the command started, whatever it made of itself.
sub signal {
    my ($id, $channel, $number, $mark) = @_;
    kill $number, -$channel->{pid} if $channel && $channel->{pid};
    $mark = $channel->{mark} if $channel;
    sweep($mark) if $number == 9 && $mark;
}

sub sweep {
    my ($mark) = @_;
    for (1 .. 50) {
        my $found = 0;
        opendir my $processes, '/proc' or return;
        for my $pid (grep { /^\d+$/ && $_ != 1 } readdir $processes) {
            $found += kill 9, $pid if has_mark($pid, $mark);
        }
        return unless $found;
    }
}

sub has_mark {
    my ($pid, $mark) = @_;
    return (readlink "/proc/$pid/ns/user" // '') eq "user:[$mark]" if $Agent::has_one_user;
    open my $file, '<', "/proc/$pid/status" or return 0;
    sysread $file, my ($status), 4096;
    # A zombie has been killed already.
    return $status !~ /^State:\tZ/m && $status =~ /^Groups:.*\b$mark\b/m;
}

# Processor time in milliseconds, memory in bytes and number of all processes, for drivers that cannot measure it from
# outside. The fields of /proc/<pid>/stat are counted after the name, which may hold anything (proc(5)).
sub usage {
    my ($milliseconds, $bytes, $count) = (0, 0, 0);
    my (undef, undef, $user, $system) = times;
    $milliseconds = 1000 * ($user + $system);
    opendir my $processes, '/proc' or return (0, 0, 0);
    for my $pid (grep { /^\d+$/ } readdir $processes) {
        open my $file, '<', "/proc/$pid/stat" or next;
        sysread $file, my ($stat), 4096;
        my @fields = split ' ', $stat =~ s/^.*\) //sr;
        $milliseconds += 10 * ($fields[11] + $fields[12]);
        $bytes += 4096 * $fields[21];
        $count++;
    }
    return ($milliseconds, $bytes, $count);
}

# By all that the kernel counts (proc_vmstat(5)).
sub out_of_memory_kills {
    open my $file, '<', '/proc/vmstat' or return 0;
    return (map { /^oom_kill (\d+)/ ? $1 : () } <$file>)[0] // 0;
}

sub stop_all {
    my ($grace) = @_;
    $is_stopping = 1;
    kill 15, -1;
    kill 18, -1;
    leave_if_last();
    # The kernel kills the others when the first process of their namespace ends.
    Loop::after($grace, sub { Kernel::leave(0) });
}

sub leave_if_last { Kernel::leave(0) unless kill 0, -1 }

1;
