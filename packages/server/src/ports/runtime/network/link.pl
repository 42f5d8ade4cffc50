# Network devices, addresses and routes, by netlink (rtnetlink(7), netlink(7), veth(4)). Who calls this is the machine's
# root still, in the namespace that something is to be made in; a way to /proc/<pid>/ns/net names another one.
package Link;
use strict;
use warnings;

sub AF_NETLINK ()        { 16 }
sub NETLINK_ROUTE ()     { 0 }
sub NETLINK_NETFILTER () { 12 }
sub ACKNOWLEDGED ()      { 5 }
sub EXCLUSIVE ()         { 0x600 }
sub NESTED ()            { 0x8000 }
sub IFF_UP ()            { 1 }
sub CLONE_NEWNET ()      { 0x40000000 }

# The gateway's address (network.ts). It is the same everywhere, so a disk may keep it.
sub RESOLV_CONF () { "nameserver 10.128.0.1\n" }

# The kernel's answer is a number of an error, 0 for none.
sub ask {
    my ($protocol, $type, $flags, $body) = @_;
    socket my $socket, AF_NETLINK, 3, $protocol or die "netlink: $!\n";
    my $message = pack('LSSLL', 16 + length $body, $type, ACKNOWLEDGED | $flags, 1, 0) . $body;
    defined syswrite $socket, $message or die "netlink: $!\n";
    sysread $socket, my ($answer), 65_536 or die "netlink: $!\n";
    my ($answered, $number) = unpack 'x4 S x10 l', $answer;
    die "netlink: an answer of type $answered\n" unless $answered == 2;
    return -$number;
}

sub must {
    my ($what, @asked) = @_;
    my $number = ask(NETLINK_ROUTE, @asked) or return;
    $! = $number;
    die "$what: $!\n";
}

sub attribute {
    my ($type, $value) = @_;
    my $length = 4 + length $value;
    return pack('SS', $length, $type) . $value . "\0" x ((4 - $length % 4) % 4);
}

sub nest {
    my ($type, @attributes) = @_;
    return attribute($type | NESTED, join '', @attributes);
}

sub text { attribute($_[0], "$_[1]\0") }
sub number { attribute($_[0], pack 'L', $_[1]) }
sub packed { pack 'C4', split /\./, $_[0] }

sub in_namespace {
    my ($namespace) = @_;
    Kernel::must('network namespace', 'setns', fileno $namespace, CLONE_NEWNET);
}

# /proc is that of the machine, also where this process has another number than there.
sub namespace {
    my ($path) = @_;
    open my $namespace, '<', $path // '/proc/self/ns/net' or die "network namespace: $!\n";
    return $namespace;
}

# SIOCGIFINDEX (netdevice(7))
sub index_of {
    my ($device) = @_;
    socket my $socket, 2, 2, 0 or die "$device: $!\n";
    my $request = pack 'a16 x24', $device;
    ioctl $socket, 0x8933, $request or die "$device: $!\n";
    return unpack 'x16 l', $request;
}

# SIOCGIFFLAGS, SIOCSIFFLAGS
sub raise {
    my ($device) = @_;
    socket my $socket, 2, 2, 0 or die "$device: $!\n";
    my $request = pack 'a16 x24', $device;
    ioctl $socket, 0x8913, $request or die "$device: $!\n";
    my $flags = unpack 'x16 S', $request;
    $request = pack 'a16 S x22', $device, $flags | IFF_UP;
    ioctl $socket, 0x8914, $request or die "$device: $!\n";
}

# Two ends of one cable: one here, which is up, and one there, which its kernel lets nobody raise yet. RTM_NEWLINK with IFLA_IFNAME, IFLA_MTU,
# IFLA_NET_NS_FD, IFLA_LINKINFO (IFLA_INFO_KIND, IFLA_INFO_DATA) and VETH_INFO_PEER.
sub cable {
    my ($here, $there, $namespace, $mtu) = @_;
    my $header = pack 'x8 LL', IFF_UP, IFF_UP;
    my $peer = nest(1, pack('x16'), text(3, $there), number(4, $mtu), number(28, fileno $namespace));
    must("device $here", 16, EXCLUSIVE,
        $header . text(3, $here) . number(4, $mtu) . nest(18, attribute(1, 'veth'), nest(2, $peer)));
}

# RTM_DELLINK; true when it was there.
sub remove { ask(NETLINK_ROUTE, 17, 0, pack('x16') . text(3, $_[0])) == 0 }

# RTM_NEWADDR with IFA_LOCAL and IFA_ADDRESS; nobody else is in its network.
sub address {
    my ($device, $address) = @_;
    my $packed = packed($address);
    must("address of $device", 20, EXCLUSIVE,
        pack('CCCCL', 2, 32, 0, 0, index_of($device)) . attribute(2, $packed) . attribute(1, $packed));
}

# RTM_NEWROUTE with RTA_DST, RTA_OIF and RTA_GATEWAY. To one address, or, by a gateway, to all. RTNH_F_ONLINK: the gateway
# is there though no network says so. Gives the number of an error.
sub route {
    my ($device, %to) = @_;
    my ($bits, $scope, $flags) = $to{address} ? (32, 253, 0) : (0, 0, 4);
    my $header = pack 'C8 L', 2, $bits, 0, 0, 254, 3, $scope, 1, $flags;
    my $target = $to{address} ? attribute(1, packed($to{address})) : attribute(5, packed($to{gateway}));
    return ask(NETLINK_ROUTE, 24, EXCLUSIVE, $header . $target . number(4, index_of($device)));
}

sub must_route {
    $! = route(@_) or return;
    die "route by $_[0]: $!\n";
}

# A setting of the namespace that this process is in; not all kernels have all.
sub set {
    my ($name, $value) = @_;
    my $path = "/proc/sys/net/$name";
    return unless -e $path;
    open my $file, '>', $path or die "$path: $!\n";
    defined syswrite $file, $value or die "$path: $!\n";
}

# What holds in the namespace of every workload that has a way out.
sub settings {
    set('ipv6/conf/default/disable_ipv6', 1);
    # Everybody may ask whether somebody is there: that takes no rights then (icmp(7)).
    set('ipv4/ping_group_range', '0 2147483647');
}

# A cable from this process's namespace to a gateway's: `words` are the path of that one's namespace, the device's name
# there, the workload's address, that of the gateway, and the size of packets.
sub lay {
    my ($words) = @_;
    my ($path, $device, $address, undef, $mtu) = unpack '(N/a*)*', $words;
    my ($here, $there) = (namespace(), namespace($path));
    in_namespace($there);
    # That of one that ended a moment ago: the kernel takes its time.
    remove($device);
    in_namespace($here);
    cable('eth0', $device, $there, $mtu);
    in_namespace($there);
    raise($device);
    must_route($device, address => $address);
    in_namespace($here);
}

# Gives this process's namespace a way out.
sub attach {
    my ($words) = @_;
    my (undef, undef, $address, $gateway) = unpack '(N/a*)*', $words;
    settings();
    lay($words);
    address('eth0', $address);
    must_route('eth0', gateway => $gateway);
}

# RTM_SETLINK
sub change {
    my ($device, @attributes) = @_;
    must("device $device", 19, 0, pack('x4 l x8', index_of($device)) . join '', @attributes);
}

# A device whose packets come to a virtual machine: gives the descriptor. TUNSETIFF with IFF_TAP, IFF_NO_PI, IFF_VNET_HDR
sub tap {
    my ($name) = @_;
    sysopen my $tap, '/dev/net/tun', 2 | Kernel::O_NONBLOCK or die "device of a machine: $!\n";
    my $request = pack 'a16 S x22', $name, 0x5002;
    ioctl $tap, 0x400454ca, $request or die "device of a machine: $!\n";
    return $tap;
}

# The cable leads on to a virtual machine: the address is its guest's, and nobody in this namespace has one. IFLA_MASTER
sub bridge {
    my ($words, $tap) = @_;
    set("ipv6/conf/$_/disable_ipv6", 1) for qw(all default);
    lay($words);
    must('bridge', 16, EXCLUSIVE, pack('x8 LL', IFF_UP, IFF_UP) . text(3, 'bridge') . nest(18, attribute(1, 'bridge')));
    change($_, number(10, index_of('bridge'))) for 'eth0', $tap;
    raise($tap);
}

# In such a guest: its machine's device, which begins in the first namespace, comes into this one. `words` are the
# address, that of the gateway, and the size of packets. IFLA_MTU, IFLA_NET_NS_FD
sub adopt {
    my ($words) = @_;
    my ($address, $gateway, $mtu) = unpack '(N/a*)*', $words;
    my ($here, $first) = (namespace(), namespace('/proc/1/ns/net'));
    settings();
    in_namespace($first);
    change('eth0', number(4, $mtu), number(28, fileno $here));
    in_namespace($here);
    raise('eth0');
    address('eth0', $address);
    must_route('eth0', gateway => $gateway);
}

# What a new namespace lacks: loopback, and where there are `words`, a way out, by a cable or by a machine's device.
sub begin {
    my ($words, $words_of_device) = @_;
    raise('lo');
    attach($words) if defined $words;
    adopt($words_of_device) if defined $words_of_device;
}

# What the kernel remembers of connections from an address goes: who has it next must not be taken for who had it.
# IPCTNL_MSG_CT_DELETE with CTA_TUPLE_ORIG and CTA_FILTER (CTA_FILTER_F_CTA_IP_SRC); Linux before 5.8 knows no filters.
sub forget {
    my ($address) = @_;
    my $source = nest(1, nest(1, attribute(1, packed($address))));
    ask(NETLINK_NETFILTER, 0x102, 0, pack('CCn', 2, 1, 0) . $source . nest(25, number(1, 1)));
}

1;
