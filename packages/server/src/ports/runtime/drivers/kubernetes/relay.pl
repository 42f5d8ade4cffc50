# Between the platform, at descriptors 0 and 1, and the guest agent on the Pod's loopback: passes on what each says. With the
# end of either all in this container ends. Its arguments: the agent's port, and for how long to try.
use strict;
use warnings;

my ($port, $seconds) = @ARGV;
my $deadline = time + $seconds;
my $agent;

sub end_all {
    kill 'TERM', 1;
    exit 0;
}

sub pass_on {
    my ($from, $to) = @_;
    while (sysread $from, my ($bytes), 65_536) {
        for (my $at = 0; $at < length $bytes;) {
            $at += syswrite($to, $bytes, length($bytes) - $at, $at) // end_all();
        }
    }
    end_all();
}

while (1) {
    socket $agent, 2, 1, 0 or die "socket: $!\n";
    last if connect $agent, pack 'S n a4 x8', 2, $port, "\x7f\0\0\1";
    die "the agent is not there: $!\n" if time > $deadline;
    select undef, undef, undef, 0.01;
}
kill 'USR1', 1;
setsockopt $agent, 6, 1, 1;
binmode $_ for \*STDIN, \*STDOUT, $agent;
$SIG{PIPE} = 'IGNORE';
my $child = fork // die "fork: $!\n";
$child ? pass_on(\*STDIN, $agent) : pass_on($agent, \*STDOUT);
