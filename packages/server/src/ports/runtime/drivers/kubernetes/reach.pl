# Tells whether the API server is reached from here: `reached` or `out of reach`; something else when that cannot be told.
# Its argument says how long to try.
use strict;
use warnings;
use Socket qw(AF_INET AF_INET6 SOCK_STREAM inet_pton pack_sockaddr_in pack_sockaddr_in6);

my ($seconds) = @ARGV;
# What nodes tell each container of the API server.
my ($host, $port) = map { $ENV{"KUBERNETES_SERVICE_$_"} // '' } qw(HOST PORT);
my $family = $host =~ /:/ ? AF_INET6 : AF_INET;
my $address = inet_pton($family, $host) // do { print "no address: $host"; exit 0 };
my $name = $family == AF_INET6 ? pack_sockaddr_in6($port, $address) : pack_sockaddr_in($port, $address);
$SIG{ALRM} = sub { print 'out of reach'; exit 0 };
$| = 1;
alarm $seconds;
# Where Pods have no such addresses at all, there is no socket for them either.
my $socket;
my $reached = socket($socket, $family, SOCK_STREAM, 0) && connect $socket, $name;
print $reached ? 'reached' : 'out of reach';
