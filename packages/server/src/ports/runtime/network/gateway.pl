# The gateway of all workloads: a process in a network namespace of its own, which has a cable to the machine's. It lives
# as long as whoever started it, and with it the namespace and the devices. Descriptors 3 and 4 lead to two programs of nft, one in
# the machine's namespace and one in the gateway's. Questions to name servers, which workloads ask
# the gateway's address, go to the platform and back.
#
# Arguments: the device of the machine that the cable ends at, the size of packets, the gateway's address, nft.
package Gateway;
use strict;
use warnings;

BEGIN {
    my ($network) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$network/../agent/kernel.pl";
    require "$network/../agent/loop.pl";
    require "$network/link.pl";
}

sub DNS_PORT ()        { 53 }
sub QUESTIONS_MAX ()   { 4096 }
sub CONNECTIONS_MAX () { 256 }
sub EACH_MAX ()        { 16 }
sub IDLE_SECONDS ()    { 10 }
sub PAIRS ()           { 10_000 }

my ($device, $mtu, $gateway, $nft) = @ARGV;
my $machine = Link::namespace();
my ($input, $next_question, $next_connection) = ('', 0, 0);
# Where answers go: [packed address] of a datagram, or [undef, connection].
my (%asker, %connections);
my @nft;

sub say {
    my $words = pack '(N/a*)*', @_;
    my $frame = pack 'N/a*', $words;
    while (length $frame) {
        my $count = syswrite STDOUT, $frame;
        Kernel::leave(1) unless defined $count;
        substr $frame, 0, $count, '';
    }
}

# nft, asked line by line; what it writes of errors comes where its answers come.
sub begin_nft {
    my ($fd) = @_;
    my $pid = fork;
    die "fork: $!\n" unless defined $pid;
    if ($pid == 0) {
        Kernel::must('descriptor', 'dup3', $fd, $_, 0) for 0 .. 2;
        Kernel::close_others();
        # PR_SET_PDEATHSIG
        Kernel::must('signal', 'prctl', 1, 9, 0, 0, 0);
        # It would keep its history there.
        %ENV = (HOME => '/dev/null', PATH => '/usr/sbin:/usr/bin:/sbin:/bin');
        exec { $nft } 'nft', '-i' or Kernel::leave(1);
    }
    Kernel::call('close', $fd);
    return $pid;
}

# Link-local addresses of two ends (RFC 3927), far from those that clouds answer at. That nobody has the same two is sure
# by the route to one of them, of which there is one.
sub connect_to_machine {
    my $own = Link::namespace();
    Link::cable('uplink', $device, $machine, $mtu);
    Link::in_namespace($machine);
    Link::set("ipv6/conf/$device/disable_ipv6", 1);
    Link::raise($device);
    for (1 .. 100) {
        my $number = 2 * int rand PAIRS;
        my ($outside, $inside) = map { sprintf '169.254.%d.%d', 1 + int($_ / 256), $_ % 256 } $number, $number + 1;
        Link::in_namespace($machine);
        my $error = Link::route($device, address => $inside);
        Link::address($device, $outside) unless $error;
        Link::in_namespace($own);
        next if $error == Kernel::EEXIST;
        ($! = $error), die "route to the gateway: $!\n" if $error;
        Link::address('uplink', $inside);
        Link::must_route('uplink', gateway => $outside);
        return $inside;
    }
    die "no link-local addresses are free\n";
}

sub begin {
    push @nft, begin_nft(3);
    Kernel::must('network namespace', 'unshare', Link::CLONE_NEWNET);
    push @nft, begin_nft(4);
    Link::set("ipv6/conf/$_/disable_ipv6", 1) for qw(all default);
    Link::set('ipv4/ip_forward', 1);
    Link::set("ipv4/conf/$_/rp_filter", 0) for qw(all default);
    Link::set("ipv4/conf/$_/send_redirects", 0) for qw(all default);
    # Who is refused something is told each time.
    Link::set('ipv4/icmp_ratelimit', 0);
    Link::raise('lo');
    Link::address('lo', $gateway);
    return connect_to_machine();
}

sub at_dns_port { pack 'S n a4 x8', 2, DNS_PORT, Link::packed($gateway) }
sub address_of { join '.', unpack 'x4 C4', $_[0] }

sub question {
    my ($asker, $address, $transport, $message) = @_;
    my $number = $next_question++;
    $asker{$number} = $asker;
    delete $asker{ $number - QUESTIONS_MAX };
    say('question', $number, $address, $transport, $message);
}

sub listen_for_datagrams {
    socket my $socket, 2, 2, 0 or die "name service: $!\n";
    bind $socket, at_dns_port() or die "name service: $!\n";
    Kernel::nonblocking($socket);
    Loop::read_from($socket, sub {
        my $peer = recv $socket, my ($message), 4096, 0;
        question([$peer, $socket], address_of($peer), 'udp', $message) if $peer && length $message >= 12;
    });
}

sub drop {
    my ($connection) = @_;
    delete $connections{ $connection->{number} } or return;
    Loop::forget($connection->{handle});
}

sub receive_part {
    my ($connection) = @_;
    my $count = sysread $connection->{handle}, $connection->{input}, 65_538, length $connection->{input};
    return drop($connection) unless $count;
    $connection->{at} = Kernel::now();
    while (length $connection->{input} >= 2 && length $connection->{input} >= 2 + unpack 'n', $connection->{input}) {
        my ($message) = unpack 'n/a*', $connection->{input};
        substr $connection->{input}, 0, 2 + length $message, '';
        return drop($connection) if length $message < 12;
        question([undef, $connection], $connection->{address}, 'tcp', $message);
    }
}

# Who says nothing for a while makes place for who comes.
sub accept_connection {
    my ($listener) = @_;
    my $peer = accept my $handle, $listener or return;
    my $idle = Kernel::now() - IDLE_SECONDS;
    drop($_) for grep { $_->{at} < $idle } values %connections;
    my $address = address_of($peer);
    return if keys %connections >= CONNECTIONS_MAX;
    return if EACH_MAX <= grep { $_->{address} eq $address } values %connections;
    Kernel::nonblocking($handle);
    my $number = $next_connection++;
    my $connection = $connections{$number} = {
        number => $number, handle => $handle, address => $address, input => '', at => Kernel::now(),
    };
    Loop::read_from($handle, sub { receive_part($connection) });
}

sub listen_for_connections {
    socket my $listener, 2, 1, 0 or die "name service: $!\n";
    setsockopt $listener, 1, 2, 1;
    bind $listener, at_dns_port() or die "name service: $!\n";
    listen $listener, 64 or die "name service: $!\n";
    Kernel::nonblocking($listener);
    Loop::read_from($listener, sub { accept_connection($listener) });
}

sub answer {
    my ($number, $message) = @_;
    my $asker = delete $asker{$number} or return;
    my ($peer, $to) = @$asker;
    return send $to, $message, 0, $peer if defined $peer;
    return unless $connections{ $to->{number} };
    my $count = syswrite $to->{handle}, pack 'n/a*', $message;
    drop($to) unless defined $count && $count == 2 + length $message;
}

# In a child, which may be in another namespace.
sub join_process {
    my ($pid, $words) = @_;
    my $child = fork;
    die "fork: $!\n" unless defined $child;
    if ($child == 0) {
        eval {
            Link::in_namespace(Link::namespace("/proc/$pid/ns/net"));
            # The settings below /proc/sys/net are those of who reads them.
            Link::attach($words);
            Kernel::leave(0);
        };
        print STDERR $@;
        Kernel::leave(1);
    }
    waitpid $child, 0;
    die "the process $pid got no network\n" if $?;
}

my %calls = (join => \&join_process, forget => \&Link::forget);

# The device goes with the namespace, but when is for the kernel to say. nft has been told by whoever told us.
sub end {
    Link::remove('uplink');
    waitpid $_, 0 for @nft;
    Kernel::leave(0);
}

sub receive {
    my $count = sysread STDIN, $input, 65_536, length $input;
    end() unless $count;
    while (length $input >= 4 && length $input >= 4 + unpack 'N', $input) {
        my ($words) = unpack 'N/a*', $input;
        substr $input, 0, 4 + length $words, '';
        my ($what, $number, @rest) = unpack '(N/a*)*', $words;
        if ($what eq 'answer') {
            answer($number, @rest);
            next;
        }
        eval { $calls{$what}->(@rest); 1 } ? say('done', $number) : do { chomp $@; say('failed', $number, $@) };
    }
}

$SIG{PIPE} = 'IGNORE';
$0 = 'svc-gateway';
my $address = eval { begin() } or do { chomp $@; say('failed', '', $@); Kernel::leave(1) };
eval { listen_for_datagrams(); listen_for_connections(); 1 } or do { chomp $@; say('failed', '', $@); Kernel::leave(1) };
say('ready', $$, $address);
Loop::read_from(\*STDIN, \&receive);
Loop::turn(0) while 1;
