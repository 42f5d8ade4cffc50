# Shows an image's unpacked directory at another place of the machine, for Docker to bind there: with the users of one
# workload, which only the machine's root may give it. Arguments: image, first user and number of users, place.
package ShownImage;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
}

my ($image, $base, $count, $place) = @ARGV;
Image::show({ image => $image, uid_base => $base, uid_count => $count }, $place);
