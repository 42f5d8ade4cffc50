# Starts workloads for the gvisor driver: as that of processes does, but what a child of this process becomes is runsc,
# in a root that has nothing of the machine's but the parts of the workload. All of it is in one process namespace, so
# the sandbox, its gofer and what they started end with the first process there.
package Sandbox;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
}

sub write_file {
    my ($path, $text) = @_;
    Root::empty_file($path);
    Launch::write_file($path, $text);
}

# The tree that the gofer serves. The machine's kernel keeps it read-only and its disk to its size.
sub workload {
    my ($asked, $uid) = @_;
    Root::directory($_, 0755, 0) for qw(bundle state workload);
    write_file('bundle/config.json', $asked->{config});
    my $number = 0;
    my @targets;
    Root::directory('mounts', 0755, 0);
    for (@{ $asked->{mount} }) {
        my ($source, $target) = unpack 'N/a* N/a*', $_;
        my $at = 'mounts/' . $number++;
        Root::directory($at, 0755, 0);
        Root::show($source, $at, Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV);
        push @targets, $target;
    }
    if ($asked->{image}) {
        Image::tree($asked, $uid);
        # runsc is told to mount it, and would follow a link.
        Root::directory('tmp', 01777, $uid);
    } else {
        Root::plant('workload');
        Root::tree($asked, $uid);
    }
    Root::directory($_, 0755, $uid) for qw(dev proc sys);
    my $kit = Root::target('.', '/.svc/agent');
    Root::show($asked->{kit}, $kit, Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV);
    Root::target('.', $_) for @targets;
    Root::finish() unless $asked->{image};
    chdir '..' or die "root: $!\n";
}

sub isolate {
    my ($asked) = @_;
    Launch::write_file($_, '0') for @{ $asked->{group} };
    Kernel::must('namespaces', 'unshare',
        Launch::CLONE_NEWNS | Launch::CLONE_NEWNET | Launch::CLONE_NEWIPC | Launch::CLONE_NEWUTS);
    Link::begin($asked->{link});
    Root::begin($asked->{root_at});
    Root::empty_file('runsc');
    Root::show($asked->{runsc}, 'runsc', Root::ATTR_RDONLY);
    Root::devices(0);
    Root::directory('proc', 0555, 0);
    Root::directory('tmp', 01777, 0);
    Root::mount('svc', 'proc', 'proc', Root::MS_NOSUID | Root::MS_NODEV | Root::MS_NOEXEC);
    workload($asked, $asked->{uid_base});
    Root::enter();
    Kernel::must('session', 'setsid');
    # PR_SET_PDEATHSIG
    Kernel::must('signal', 'prctl', 1, 9, 0, 0, 0);
    Kernel::default_signals();
    %ENV = (PATH => '/');
    my @arguments = unpack '(N/a*)*', $asked->{arguments};
    exec { '/runsc' } 'runsc', @arguments or die "runsc: $!\n";
}

$Launch::isolate = \&isolate;
Launch::run();
