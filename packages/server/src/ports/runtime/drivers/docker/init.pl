# The first process of a container: becomes the guest agent, in users, mounts and a root of its own. Docker has given it a
# system that cannot be written, on which the machine's programs and the workload's disk are mounted, and of the rights of
# the machine's root those alone that it takes to hand them to users of the workload's own. Its argument is the request, as
# launchers have it.
package Container;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
}

sub isolate {
    my ($asked) = @_;
    $asked->{image_is_shown} = 1;
    my $base = $asked->{uid_base};
    chown $base, $base, '/.svc/disk' or die "disk: $!\n";
    my $helper = Launch::begin_helper($asked, 0);
    Launch::enter_user_namespace($helper, $base, Limits::settings());
    Kernel::must('mounts', 'unshare', Launch::CLONE_NEWNS);
    Root::build($asked, 0);
    $Agent::filter = pack 'H*', $asked->{filter} || '';
    Kernel::keep_capabilities();
    # PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE: nobody in the workload may look into this process.
    Kernel::must('privileges', 'prctl', 38, 1, 0, 0, 0);
    Kernel::must('privileges', 'prctl', 4,  0, 0, 0, 0);
    open STDERR, '>', '/dev/null';
    %ENV = ();
    Kernel::close_others();
    $0 = 'svc-agent';
}

chdir '/.svc/platform' or die "platform: $!\n";
# Docker has mounted that of the container's processes, and the platform the image for the workload's users.
$Root::mount_proc = sub { Root::show('/proc', 'proc', 0) };
$Launch::isolate = \&isolate;
Launch::become_workload(Launch::parse(unpack '(N/a*)*', pack 'H*', $ARGV[0]));
