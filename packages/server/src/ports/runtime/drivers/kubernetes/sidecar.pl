# The first process of the container by which the platform comes into a Pod: waits, and with its end ends what was started
# beside it. What the platform runs here is out of the workload's sight and reach, and unlike what a container's first
# process says, what it says is not kept on the node. Its argument says for how long nobody has to come.
use strict;
use warnings;

# relay.pl, when it is there and when it is over.
$SIG{USR1} = sub { alarm 0 };
$SIG{TERM} = $SIG{ALRM} = sub { exit 0 };
alarm $ARGV[0];
1 while waitpid(-1, 0) > 0 || select undef, undef, undef, undef;
exit 0;
