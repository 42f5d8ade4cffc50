# Becomes the guest agent in a root that is ready, with the names, users and capabilities that it is to have. Its arguments
# are the filter for commands, empty where it is in force already, and whether there is one user alone.
package Agent;
use strict;
use warnings;

require '/.svc/agent/agent.pl';
our ($filter, $has_one_user) = (pack('H*', $ARGV[0]), $ARGV[1]);
Kernel::keep_capabilities($has_one_user ? 31 : ());
# PR_SET_DUMPABLE: nobody in the workload may look into this process.
Kernel::must('privileges', 'prctl', 4, 0, 0, 0, 0);
open STDERR, '>', '/dev/null';
%ENV = ();
Kernel::close_others();
$0 = 'svc-agent';
run();
