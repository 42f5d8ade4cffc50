# Starts guests for the qemu driver: as workloads of the process driver are started, but what a child of this process
# starts is QEMU, in a root that has nothing of the machine's but its programs, as a user that is nobody else. The child
# itself stays beside it: it answers what the guest asks of the machine's files, and sees to it that a guest that has to
# end has written what is on its disk. All of it is in one process namespace, which ends with that child.
package Machine;
use strict;
use warnings;

my $driver;

BEGIN {
    ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
    require "$driver/share.pl";
}

# Descriptors of QEMU's, as machine.ts names them; 0 is the agent's.
my %fds = (control => 3, share => 4, monitor => 5, disk => 6, state => 7, memory => 8, network => 9);
# For a guest that is told to end, until it has written all: what it kept in memory may be much, and the disk slow.
sub END_S ()          { 30 }
# How this process ends when the guest's kernel had killed for memory, as driver.ts knows it.
sub OUT_OF_MEMORY () { 3 }
sub TEMPLATES_MAX ()  { 8 }
# MFD_ALLOW_SEALING; F_ADD_SEALS; F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE (fcntl(2))
sub MEMFD_SEALABLE () { 2 }
sub ADD_SEALS ()      { 1033 }
sub ALL_SEALS ()      { 1 | 2 | 4 | 8 }

# The memory that copies begin with, by the folder of their template. Sealed, so that nobody writes to it but in pages of
# his own: not even who has taken over a QEMU reaches another guest by it.
my (%memories, @held);

sub hold {
    my ($asked) = @_;
    my $template = $asked->{from} or return;
    return if $memories{$template};
    my $memory = Kernel::handle(Kernel::must('memory', 'memfd_create', 'svc-template', MEMFD_SEALABLE), '+<');
    # FD_CLOEXEC
    fcntl $memory, 2, 1;
    sysopen my $file, "$template/memory", Kernel::O_RDONLY or die "template: $!\n";
    copy_parts($file, $memory);
    fcntl $memory, ADD_SEALS, ALL_SEALS or die "seals: $!\n";
    $memories{$template} = $memory;
    push @held, $template;
    delete $memories{ shift @held } if @held > TEMPLATES_MAX;
}

# Holes stay holes. SEEK_DATA, SEEK_HOLE (lseek(2))
sub copy_parts {
    my ($from, $to) = @_;
    my $size = -s $from;
    truncate $to, $size or die "memory: $!\n";
    my $at = 0;
    while (defined(my $start = sysseek $from, $at, 3)) {
        my $end = sysseek $from, $start, 4;
        sysseek $_, $start, 0 for $from, $to;
        for (my $left = $end - $start; $left > 0;) {
            my $count = sysread $from, my ($bytes), $left < 1_048_576 ? $left : 1_048_576;
            die "template: $!\n" unless $count;
            syswrite($to, $bytes) == $count or die "memory: $!\n";
            $left -= $count;
        }
        $at = $end;
        last if $at >= $size;
    }
}

sub pair {
    socketpair my $near, my $far, 1, 1, 0 or die "socket: $!\n";
    return ($near, $far);
}

# The tree that the guest sees through this process.
sub share {
    my ($asked, $users) = @_;
    Root::directory($_, 0755, 0) for 'share', map { "share/$_" } qw(dev proc cgroup root mounts image etc);
    chdir 'share' or die "share: $!\n";
    Root::usr();
    for my $name (qw(alternatives ssl/certs ld.so.conf.d)) {
        next unless -d "/etc/$name";
        Root::show("/etc/$name", Root::target('etc', $name), Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV);
    }
    if (-f '/etc/ld.so.cache') {
        Root::empty_file('etc/ld.so.cache');
        Root::show('/etc/ld.so.cache', 'etc/ld.so.cache', Root::ATTR_RDONLY);
    }
    Image::show($asked, 'image', $users) if $users;
    my $number = 0;
    for (@{ $asked->{mount} }) {
        my ($source) = unpack 'N/a*', $_;
        my $at = 'mounts/' . $number++;
        Root::directory($at, 0755, 0);
        Root::show($source, $at, Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV);
    }
    chdir '..' or die "root: $!\n";
}

sub build {
    my ($asked, $users) = @_;
    Root::begin($asked->{root_at});
    share($asked, $users);
    Root::usr();
    Root::directory($_, 0755, 0) for qw(dev proc tmp);
    Root::mount('svc', 'proc', 'proc', Root::MS_NOSUID | Root::MS_NODEV | Root::MS_NOEXEC);
    for my $name (qw(null urandom), $asked->{kvm_group} ? 'kvm' : ()) {
        Root::empty_file("dev/$name");
        Root::show("/dev/$name", "dev/$name", 0);
    }
    for my $name (grep { $asked->{$_} } qw(kernel initrd)) {
        Root::empty_file($name);
        Root::show($asked->{$name}, $name, Root::ATTR_RDONLY);
    }
    if ($asked->{into}) {
        Root::directory('template', 0755, 0);
        Root::show($asked->{into}, 'template', 0);
        chown $asked->{uid_base}, $asked->{uid_base}, 'template';
    }
    Root::finish();
    Root::enter();
}

# Waits for who had it before: he may still be writing.
sub open_disk {
    my ($path) = @_;
    sysopen my $disk, $path, 2 or die "$path: $!\n";
    for (1 .. 500) {
        return $disk if flock $disk, 6;
        select undef, undef, undef, 0.01;
    }
    die "the disk is in use\n";
}

# Ours alone; what needs root has been opened.
sub become_nobody {
    my ($asked) = @_;
    my @groups = $asked->{kvm_group} ? $asked->{kvm_group} : ();
    Kernel::must('groups', 'setgroups', scalar @groups, pack 'L*', @groups);
    # As text it would be handed over as a place in memory.
    my $uid = $asked->{uid_base} + 0;
    Kernel::must('group', 'setresgid', $uid, $uid, $uid);
    Kernel::must('user',  'setresuid', $uid, $uid, $uid);
    # PR_SET_NO_NEW_PRIVS
    Kernel::must('privileges', 'prctl', 38, 1, 0, 0, 0);
}

# What is an image's may be for its owner's eyes alone, who is a user of the workload's: of these this process reads all,
# and nothing more than nobody of others. CAP_DAC_READ_SEARCH, of a user namespace that has no other users.
sub become_reader {
    my ($asked, $users) = @_;
    return become_nobody($asked) unless $users;
    Kernel::must('groups', 'setgroups', 0, 0);
    Kernel::must('user namespace', 'setns', fileno $users, Launch::CLONE_NEWUSER);
    Kernel::must('group', 'setresgid', 0, 0, 0);
    Kernel::must('user',  'setresuid', 0, 0, 0);
    Kernel::must('capabilities', 'capset', pack('LL', 0x20080522, 0), pack('L6', 4, 4, 0, 0, 0, 0));
    Kernel::must('privileges', 'prctl', 38, 1, 0, 0, 0);
    $Share::users_from = $asked->{uid_base};
}

sub become_machine {
    my ($asked, %handles) = @_;
    Kernel::must('session', 'setsid');
    # Out of the way of each other first: F_DUPFD.
    my %at = map { $_ => fcntl $handles{$_}, 0, 64 } keys %handles;
    Kernel::must('descriptor', 'dup3', $at{$_}, $fds{$_}, 0) for keys %at;
    Kernel::call('close', $_ + 0) for values %at;
    # What it says is for the operator; the agent's stream is descriptor 0 alone.
    Kernel::must('descriptor', 'dup3', 2, 1, 0);
    Limits::set(Limits::RLIMIT_CORE, 0, 0);
    become_nobody($asked);
    Kernel::default_signals();
    %ENV = (PATH => '/usr/bin:/bin', HOME => '/');
    my @arguments = unpack '(N/a*)*', $asked->{arguments};
    exec { $asked->{qemu} } @arguments or die "qemu: $!\n";
}

# What the guest is told when it begins; the rest of what was asked is none of its business.
sub identity {
    my ($asked) = @_;
    my $number = 0;
    my @mounts = map { (mount => pack 'N/a* N/a*', '/mounts/' . $number++, (unpack 'N/a* N/a*', $_)[1]) }
        @{ $asked->{mount} };
    open my $random, '<', '/dev/urandom' or die "random numbers: $!\n";
    sysread $random, my ($seed), 64;
    my $disk = $asked->{disk} =~ /^file:/ ? 'device:/dev/vda' : $asked->{disk};
    my @names = qw(hostname uid_base gid_base uid_count filter memory_bytes processes_max pages_aside);
    my @same = map { ($_ => $asked->{$_}) } grep { defined $asked->{$_} } @names;
    push @same, image => '/image' if $asked->{image};
    push @same, device => pack '(N/a*)*', (unpack '(N/a*)*', $asked->{link})[2 .. 4] if $asked->{link};
    my $words = pack '(N/a*)*', @same, @mounts, root_at => '/root', disk => $disk, seed => $seed, seconds => time;
    return pack 'N/a*', $words;
}

sub serve {
    my ($port, $arrived) = @_;
    Kernel::leave(0) unless sysread $port, $$arrived, 65_536, length $$arrived;
    while (length $$arrived >= 4 && length $$arrived >= unpack 'L', $$arrived) {
        my $request = substr $$arrived, 0, unpack('L', $$arrived), '';
        my $answer = Share::answer(substr $request, 4);
        syswrite $port, $answer if defined $answer;
    }
}

# Asks QEMU for one thing and waits for its answer, past what else it tells (QEMU's docs, interop/qmp-spec).
sub ask {
    my ($monitor, $command, $awaited) = @_;
    print {$monitor} "$command\n" if length $command;
    while (defined(my $line = <$monitor>)) {
        die "qemu: $line" if $line =~ /"error"/ || $line =~ /"status": "failed"/;
        return if $line =~ $awaited;
    }
    die "qemu has ended\n";
}

# Memory that is in a file is not written or read: the file is the memory.
my @greeting = (
    '{"execute":"qmp_capabilities"}',
    '{"execute":"migrate-set-capabilities","arguments":{"capabilities":[{"capability":"events","state":true},'
        . '{"capability":"x-ignore-shared","state":true}]}}',
);

sub greet {
    my ($monitor) = @_;
    $monitor->autoflush(1);
    ask($monitor, '', qr/"QMP"/);
    ask($monitor, $_, qr/"return"/) for @greeting;
}

# A guest that is as far as all guests come is written down, and not gone on with. QEMU has told all when it says so, and
# whoever writes that to the file may still be at it: the end of `pending` says that it is there.
sub take_template {
    my ($monitor, $file, $pending) = @_;
    greet($monitor);
    ask($monitor, '{"execute":"stop"}', qr/"return"/);
    my $uri = 'exec:cat >/template/state && rm /template/pending';
    ask($monitor, qq({"execute":"migrate","arguments":{"uri":"$uri"}}), qr/"status": "completed"/);
    select undef, undef, undef, 0.005 while (stat $pending)[3];
    ask($monitor, '{"execute":"quit"}', qr/"return"/);
    waitpid -1, 0;
    my $nodes = Share::save();
    syswrite($file, $nodes) == length $nodes or die "template: $!\n";
}

# Nobody speaks to QEMU any more once it goes on from there.
sub go_on {
    my ($monitor) = @_;
    greet($monitor);
    ask($monitor, '{"execute":"migrate-incoming","arguments":{"uri":"fd:7"}}', qr/"status": "completed"/);
    ask($monitor, '{"execute":"cont"}', qr/"return"/);
    close $monitor;
}

sub isolate {
    my ($asked) = @_;
    Launch::write_file($_, '0') for @{ $asked->{group} };
    Kernel::must('namespaces', 'unshare',
        Launch::CLONE_NEWNS | Launch::CLONE_NEWNET | Launch::CLONE_NEWIPC | Launch::CLONE_NEWUTS);
    my ($from, $into) = @$asked{qw(from into)};
    my (%near, %far);
    ($near{$_}, $far{$_}) = pair() for qw(control share monitor);
    $far{disk} = open_disk($1) if $asked->{disk} =~ /^file:(.*)/s;
    $far{network} = Link::tap('tap0') if $asked->{has_network};
    Link::bridge($asked->{link}, 'tap0') if $asked->{link};
    if ($from) {
        $far{memory} = $memories{$from};
        sysopen $far{state}, "$from/state", Kernel::O_RDONLY or die "template: $!\n";
        open my $nodes, '<:raw', "$from/nodes" or die "template: $!\n";
        local $/;
        Share::restore(scalar <$nodes>);
    }
    my $identity = $from && identity($asked);
    my $users = $asked->{image} && Image::namespace_of(@$asked{qw(uid_base uid_count)});
    build($asked, $users);
    my $machine = fork // die "qemu: $!\n";
    if (!$machine) {
        eval { become_machine($asked, %far) };
        syswrite STDERR, $@;
        Kernel::leave(1);
    }
    close $_ for values %far;
    if ($into) {
        for (qw(nodes pending)) {
            sysopen $near{$_}, "/template/$_", Kernel::O_WRONLY | Kernel::O_CREAT, 0600 or die "template: $!\n";
        }
    }
    chroot '/share' or die "share: $!\n";
    chdir '/';
    become_reader($asked, $users);
    if ($from) {
        go_on(delete $near{monitor});
        syswrite $near{control}, $identity;
    }
    accompany(%near);
}

# Until the guest has ended, or has to.
sub accompany {
    my (%near) = @_;
    # PR_SET_PDEATHSIG: SIGTERM.
    Kernel::must('signal', 'prctl', 1, 15, 0, 0, 0);
    Loop::clear();
    # SIGTERM and SIGCHLD
    my $mask = pack 'Q', 1 << 14 | 1 << 16;
    Kernel::must('signals', 'rt_sigprocmask', 0, $mask, 0, 8);
    my $signals = Kernel::handle(Kernel::must('signals', 'signalfd4', -1, $mask, 8, Kernel::O_CLOEXEC), '<');
    # The agent's stream is QEMU's now, and ends with it.
    Kernel::call('close', $_) for 0, 1;
    $0 = 'svc-machine';
    my ($told, $arrived) = ('', '');
    Loop::read_from($signals, sub {
        sysread $signals, my ($signal), 128;
        if (unpack('L', $signal) == 17) {
            # It may still be told of one that helped to begin.
            Kernel::leave(0) if waitpid(-1, 1) > 0;
            return;
        }
        syswrite $near{control}, "end\n";
        Loop::after(END_S, sub { Kernel::leave(0) });
    });
    Loop::read_from($near{share}, sub { serve($near{share}, \$arrived) });
    Loop::read_from($near{control}, sub {
        Kernel::leave(0) unless sysread $near{control}, $told, 1024, length $told;
        while ($told =~ s/^(.*)\n//) { hear($1, %near) }
    });
    Loop::turn(0) while 1;
}

sub hear {
    my ($line, %near) = @_;
    if ($line eq 'ready') {
        eval { take_template(@near{qw(monitor nodes pending)}); 1 } or syswrite STDERR, $@;
    } elsif ($line !~ /^ended/) {
        syswrite STDERR, "$line\n";
    }
    Kernel::leave($line =~ /out of memory/ ? OUT_OF_MEMORY : 0);
}

$Launch::prepare = \&hold;
$Launch::isolate = \&isolate;
Launch::run();
