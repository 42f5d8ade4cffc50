# Starts workloads for the bubblewrap driver: their trees, users and control groups are those of the process driver. bwrap
# then makes the namespaces, /proc and /dev in which they are seen, takes rights away and loads the filter of system calls
# before it runs the agent. All of it is in one more process namespace, and ends with the first process there.
package Bubble;
use strict;
use warnings;

BEGIN {
    my ($driver) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$driver/../process/launch.pl";
}

# What bwrap finds as the machine: its programs, and the workload's tree with all that is mounted in it.
sub machine {
    my ($asked, $uid) = @_;
    Root::begin($asked->{root_at});
    Root::usr();
    Root::devices($uid);
    Root::directory('proc', 0555, 0);
    Root::mount('svc', 'proc', 'proc', Root::MS_NOSUID | Root::MS_NODEV | Root::MS_NOEXEC);
    # bwrap works there.
    Root::directory('tmp', 01777, 0);
    Root::directory($_, 0755, 0) for qw(empty workload);
    my $is_changeable = Root::own_tree($asked, $uid);
    if (!$is_changeable) {
        Root::plant('workload');
        Root::tree($asked, $uid);
        Root::directory($_, 0755, $uid) for qw(dev proc);
    }
    show_agent($asked->{kit}, Root::target('.', '/.svc/agent'));
    for (@{ $asked->{mount} }) {
        my ($source, $target) = unpack 'N/a* N/a*', $_;
        Root::show($source, Root::target('.', $target), Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV);
    }
    Root::finish() unless $is_changeable;
    chdir '..' or die "root: $!\n";
    Root::enter();
}

# A bind mount would tell its path on the machine in /proc/self/mountinfo; an overlay tells what it was asked for.
sub show_agent {
    my ($kit, $at) = @_;
    my ($parent, $name) = $kit =~ m{^(.*)/([^/]+)$};
    opendir my $workload, '.' or die "workload: $!\n";
    my $here = '/proc/self/fd/' . fileno $workload;
    chdir $parent or die "agent: $!\n";
    my $flags = Root::MS_RDONLY | Root::MS_NOSUID | Root::MS_NODEV;
    # The kernel asks for two layers.
    my $options = "lowerdir=$name:$here/../empty";
    my $is_shown = defined Kernel::call('mount', 'svc', "$here/$at", 'overlay', $flags, $options);
    chdir $here or die "workload: $!\n";
    Root::show($kit, $at, Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV) unless $is_shown;
}

# What of /proc is not for workloads. Settings are the same in each /proc; those of the network are its reader's. Files that
# are for the machine's root alone are out of reach already, and each that bwrap hides takes time.
sub hidden {
    my @files       = grep { -e "/proc/$_" && (stat _)[2] & 0007 } @Root::hidden_files;
    my @directories = grep { -d "/proc/$_" } @Root::hidden_directories;
    return (
        (map { ('--ro-bind', '/dev/null', "/proc/$_") } @files),
        (map { ('--ro-bind', '/empty',    "/proc/$_") } @directories),
        ('--ro-bind', '/proc/sys', '/proc/sys'),
    );
}

# A descriptor that bwrap reads the filter from.
sub filter_arguments {
    my ($filter) = @_;
    return unless length $filter;
    pipe my $reader, my $writer or die "pipe: $!\n";
    defined syswrite $writer, pack 'H*', $filter or die "filter: $!\n";
    # F_SETFD: it stays open in bwrap.
    fcntl $reader, 2, 0 or die "filter: $!\n";
    # Nobody else is to close it.
    our $held = $reader;
    return ('--seccomp', fileno $reader);
}

sub isolate {
    my ($asked) = @_;
    my $has_one_user = $Agent::has_one_user = $asked->{uid_count} == 1;
    Launch::enter_as_one_user($asked) if $has_one_user;
    my $settings = Limits::settings();
    my $helper = Launch::begin_helper($asked, $has_one_user);
    Kernel::must('namespaces', 'unshare', Launch::CLONE_NEWNS | Launch::CLONE_NEWNET);
    Link::begin($asked->{link});
    machine($asked, $has_one_user ? 0 : $asked->{uid_base});
    my $ports = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
    Launch::write_file($ports, '0') if -e $ports;
    my @hidden = hidden();
    Launch::set_limits($asked);
    Launch::await_groups($helper);
    $has_one_user ? close $helper->{teller} : Launch::enter_user_namespace($helper, $asked->{uid_base}, $settings);
    # PR_SET_PDEATHSIG
    Kernel::must('signal', 'prctl', 1, 9, 0, 0, 0);
    Kernel::default_signals();
    %ENV = ();
    my ($before, $command) = map { [unpack '(N/a*)*', $_] } @$asked{qw(arguments command)};
    my @arguments = (@$before, @hidden, filter_arguments($asked->{filter}), '--', @$command);
    exec { $asked->{bwrap} } 'bwrap', @arguments or die "bwrap: $!\n";
}

$Launch::isolate = \&isolate;
Launch::run();
