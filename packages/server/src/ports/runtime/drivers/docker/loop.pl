# Gives the image of a disk a loop device, says which, and holds that until descriptor 0 ends. What is mounted from it then
# keeps it, and gives it back when it is unmounted.
package LoopDevice;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
}

my ($device, $open) = Root::loop_device($ARGV[0]);
syswrite STDOUT, "$device\n";
sysread STDIN, my ($end), 1;
