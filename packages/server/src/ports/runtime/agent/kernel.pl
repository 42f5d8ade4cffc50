# Calls of the kernel that Perl has no words for, by number (asm/unistd.h of x86-64 and of arm64). Modules that would do
# it, as POSIX, take longer to load than all the rest.
package Kernel;
use strict;
use warnings;
use Config;

my $is_arm = $Config{archname} =~ /^aarch64/;
die "the agent does not know the system calls of $Config{archname}\n" unless $is_arm || $Config{archname} =~ /^x86_64/;

# As Node calls it.
sub machine () { $is_arm ? 'arm64' : 'x64' }

my %numbers = (
    capget           => [125, 90],
    capset           => [126, 91],
    close            => [3,   57],
    clock_gettime    => [228, 113],
    clock_settime    => [227, 112],
    clone            => [56,  220],
    dup3             => [292, 24],
    exit_group       => [231, 94],
    fchownat         => [260, 54],
    finit_module     => [313, 273],
    memfd_create     => [319, 279],
    mkdirat          => [258, 34],
    mount            => [165, 40],
    mount_setattr    => [442, 442],
    move_mount       => [429, 429],
    open_tree        => [428, 428],
    openat           => [257, 56],
    openat2          => [437, 437],
    pivot_root       => [155, 41],
    prctl            => [157, 167],
    prlimit64        => [302, 261],
    renameat         => [264, 38],
    rt_sigprocmask   => [14,  135],
    seccomp          => [317, 277],
    setgroups        => [116, 159],
    sethostname      => [170, 161],
    setns            => [308, 268],
    setresgid        => [119, 149],
    setresuid        => [117, 147],
    setsid           => [112, 157],
    signalfd4        => [289, 74],
    statfs           => [137, 43],
    statx            => [332, 291],
    sync             => [162, 81],
    umount2          => [166, 39],
    unlinkat         => [263, 35],
    unshare          => [272, 97],
    write            => [1,   64],
);
my %number = map { $_ => $numbers{$_}[$is_arm ? 1 : 0] } keys %numbers;

sub AT_FDCWD ()    { -100 }
sub O_RDONLY ()    { 0 }
sub O_WRONLY ()    { 1 }
sub O_CREAT ()     { 0100 }
sub O_EXCL ()      { 0200 }
sub O_NOCTTY ()    { 0400 }
sub O_NONBLOCK ()  { 04000 }
sub O_CLOEXEC ()   { 02000000 }
sub O_PATH ()      { 010000000 }
sub O_DIRECTORY () { $is_arm ? 040000 : 0200000 }
sub O_NOFOLLOW ()  { $is_arm ? 0100000 : 0400000 }

sub ENOENT ()      { 2 }
sub EINTR ()       { 4 }
sub EAGAIN ()      { 11 }
sub EEXIST ()      { 17 }
sub EINPROGRESS () { 115 }
sub ENOSYS ()      { 38 }

# Texts are copied, for Perl hands the kernel the place where they are.
sub call {
    my ($name, @arguments) = @_;
    my $result = syscall $number{$name}, map { my $copy = $_; $copy } @arguments;
    return $result == -1 ? undef : $result;
}

sub must {
    my ($what, $name, @arguments) = @_;
    my $result = call($name, @arguments);
    die "$what: $!\n" unless defined $result;
    return $result;
}

# What the kernel writes to its last argument, a place of so many bytes.
sub filled {
    my ($what, $name, $size, @arguments) = @_;
    my $place = "\0" x $size;
    my $result = syscall $number{$name}, (map { my $copy = $_; $copy } @arguments), $place;
    die "$what: $!\n" if $result == -1;
    return $place;
}

sub handle {
    my ($fd, $mode) = @_;
    open my $handle, "$mode&=", $fd or die "descriptor $fd: $!\n";
    binmode $handle;
    return $handle;
}

sub nonblocking {
    my ($handle) = @_;
    my $flags = fcntl $handle, 3, 0;
    fcntl $handle, 4, $flags | O_NONBLOCK;
}

# A handle that is readable when a child ended: a handler of Perl's could run too late, right before it waits.
sub child_news {
    my $mask = pack 'Q', 1 << 16;
    must('signals', 'rt_sigprocmask', 0, $mask, 0, 8);
    return handle(must('signals', 'signalfd4', -1, $mask, 8, O_NONBLOCK | O_CLOEXEC), '<');
}

# Perl asks the kernel for each once, and those that it forks afterwards know the answer.
sub changed_signals {
    return grep { ($SIG{$_} // 'DEFAULT') ne 'DEFAULT' } qw(PIPE FPE HUP INT QUIT TERM CHLD);
}

# To set one is three calls, each of which takes long where another process answers it.
sub default_signals {
    call('rt_sigprocmask', 2, pack('Q', 0), 0, 8);
    $SIG{$_} = 'DEFAULT' for changed_signals();
}

# CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID NET_BIND_SERVICE (linux/capability.h)
my @capabilities = (0, 1, 3, 4, 5, 6, 7, 10);

# All others are given up for good. SETFCAP, 31, is asked of who gives root another name in a user namespace.
sub keep_capabilities {
    my %kept = map { $_ => 1 } @capabilities, @_;
    for my $capability (grep { !$kept{$_} } 0 .. 63) {
        # PR_CAPBSET_DROP; it fails past the last one there is.
        last unless defined call('prctl', 24, $capability, 0, 0, 0);
    }
    my $mask = 0;
    $mask |= 1 << $_ for keys %kept;
    must('capabilities', 'capset', pack('LL', 0x20080522, 0), pack('L6', $mask, $mask, 0, 0, 0, 0));
}

sub now {
    my ($seconds, $nanoseconds) = unpack 'qq', filled('clock', 'clock_gettime', 16, 1);
    return $seconds + $nanoseconds / 1e9;
}

# Descriptors that whoever started us had open and did not mean for us.
sub close_others {
    opendir my $directory, '/proc/self/fd' or return;
    call('close', $_ + 0) for grep { /^\d+$/ && $_ > 2 } readdir $directory;
}

# Without what Perl does at its end, which is its parent's to do after a fork.
sub leave { call('exit_group', $_[0]) }

1;
