# Starts workloads for the gvisor driver: as that of processes does, but a child of this process starts runsc, in a root
# that has nothing of the machine's but the parts of the workload, and waits for the sandbox's end. All of it is in one
# process namespace, so the sandbox, its gofer and what they started end with that child, the first process there.
package Sandbox;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
}

sub PID_FILE () { '/state/sandbox' }

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
    my $is_changeable = Root::own_tree($asked, $uid);
    if ($is_changeable) {
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
    Root::finish() unless $is_changeable;
    chdir '..' or die "root: $!\n";
}

sub processes {
    my ($at) = @_;
    Root::directory($at, 0555, 0);
    Root::mount('svc', $at, 'proc', Root::MS_NOSUID | Root::MS_NODEV | Root::MS_NOEXEC);
}

# runsc takes a network for the machine's own, and refuses it, where these settings are. Linux had them in that one alone
# when the runsc of Debian 12 was written, and has them in all since 6.13. The kernel lets the gofer see the processes of
# its own namespace only where somebody sees all of /proc already, so there is one more.
sub hide_settings {
    return unless -d 'proc/sys/net/core';
    processes('whole');
    Root::directory('empty', 0555, 0);
    Root::show('empty', 'proc/sys/net/core', Root::ATTR_RDONLY);
}

# runsc gives back the sandbox and its gofer as orphans, and orphans here are the first process's. It has no errors in common
# with others: a sandbox that ends shuts down what it was given for all who have it.
sub run {
    my (@arguments) = @_;
    pipe my $errors, my $teller or die "pipe: $!\n";
    my $runsc = fork;
    die "fork: $!\n" unless defined $runsc;
    if ($runsc == 0) {
        Kernel::call('dup3', fileno $teller, 2, 0);
        %ENV = (PATH => '/');
        no warnings 'exec';
        exec { '/runsc' } 'runsc', @arguments;
        syswrite $teller, "$!\n";
        Kernel::leave(127);
    }
    close $teller;
    waitpid $runsc, 0;
    if ($?) {
        Kernel::nonblocking($errors);
        my $count = sysread $errors, my ($told), 1024;
        die 'runsc: ', ($count ? join '; ', split /\n/, $told : 'it has failed'), "\n";
    }
    open my $file, '<', PID_FILE or die "runsc: no sandbox\n";
    my $sandbox = <$file>;
    # The conversation is the agent's alone.
    open $_, '+<', '/dev/null' for *STDIN, *STDOUT;
    while ((my $ended = waitpid -1, 0) > 0) { last if $ended == $sandbox }
    Kernel::leave(0);
}

sub isolate {
    my ($asked) = @_;
    my $helper = Launch::begin_helper($asked, 1);
    Kernel::must('namespaces', 'unshare',
        Launch::CLONE_NEWNS | Launch::CLONE_NEWNET | Launch::CLONE_NEWIPC | Launch::CLONE_NEWUTS);
    Link::begin($asked->{link});
    Root::begin($asked->{root_at});
    Root::empty_file('runsc');
    Root::show($asked->{runsc}, 'runsc', Root::ATTR_RDONLY);
    Root::devices(0);
    Root::directory('tmp', 01777, 0);
    processes('proc');
    hide_settings() if defined $asked->{link};
    workload($asked, $asked->{uid_base});
    Root::enter();
    Kernel::must('session', 'setsid');
    # PR_SET_PDEATHSIG
    Kernel::must('signal', 'prctl', 1, 9, 0, 0, 0);
    Launch::await_groups($helper);
    close $helper->{teller};
    waitpid $helper->{pid}, 0;
    Kernel::default_signals();
    run(unpack '(N/a*)*', $asked->{arguments});
}

$Launch::isolate = \&isolate;
Launch::run();
