# The first process of a workload's container: becomes the guest agent when the platform comes, by a connection on the
# Pod's loopback that its other container brings (relay.pl), and ends with that. Nothing else runs in the Pod until then,
# and nobody else is let in after it. Its argument is words in hex: port, how long to wait, the platform's patience, and
# filters for commands by machine.
package Pod;
use strict;
use warnings;

BEGIN {
    my ($directory) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$directory/agent.pl";
}

# As the first process of its name space it has no signal's default: what asks it to end, and what tells of time.
$SIG{TERM} = $SIG{ALRM} = sub { Kernel::leave(0) };

my ($port, $seconds, $patience, %filters) = unpack '(N/a*)*', pack 'H*', $ARGV[0];
alarm $seconds;
# AF_INET, SOCK_STREAM; SO_REUSEADDR of SOL_SOCKET, TCP_NODELAY of IPPROTO_TCP
socket my $listener, 2, 1, 0 or die "socket: $!\n";
setsockopt $listener, 1, 2, 1;
bind $listener, pack 'S n a4 x8', 2, $port, "\x7f\0\0\1" or die "bind: $!\n";
listen $listener, 1 or die "listen: $!\n";
accept my $platform, $listener or die "accept: $!\n";
close $listener;
setsockopt $platform, 6, 1, 1;
Kernel::must('descriptor', 'dup3', fileno $platform, $_, 0) for 0, 1;
close $platform;

$Agent::patience = $patience;
alarm $patience;
$Agent::filter = pack 'H*', $filters{ Kernel::machine() } // '';
Kernel::keep_capabilities();
# PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE: nobody in the workload may look into this process.
Kernel::must('privileges', 'prctl', 38, 1, 0, 0, 0);
Kernel::must('privileges', 'prctl', 4,  0, 0, 0, 0);
open STDERR, '>', '/dev/null';
%ENV = ();
Kernel::close_others();
$0 = 'svc-agent';
Agent::run();
