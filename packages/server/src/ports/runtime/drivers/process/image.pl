# The root of a workload that begins as an image: the image's unpacked directory, which stays as it is, under what the
# workload writes, which is on its disk. Nothing of the image or of what the workload left is followed on the way: where
# a link stands in the way of what must be there, the workload does not start.
package Image;
use strict;
use warnings;

sub OPEN_TREE_CLONE ()          { 1 }
sub AT_EMPTY_PATH ()            { 0x1000 }
sub MOVE_MOUNT_F_EMPTY_PATH ()  { 4 }
sub ATTR_IDMAP ()               { 0x100000 }
sub RESOLVE_NO_MAGICLINKS ()    { 2 }
sub RESOLVE_IN_ROOT ()          { 16 }
sub CLONE_NEWUSER ()            { 0x10000000 }

sub FILE_BYTES_MAX () { 1 << 20 }

# Made when the workload starts for the first time, unless the image has something there.
my %directories = (
    'etc' => 0755, 'home' => 0755, 'home/user' => 0750, 'opt' => 0755, 'root' => 0700, 'tmp' => 01777, 'var' => 0755,
    'var/tmp' => 01777, 'workspace' => 0755,
);

# Of these, what no workload can do without.
my @needed = qw(etc tmp);

# A user namespace that calls 0 what the machine calls so: what a mount is seen through whose files are the image's own.
sub namespace_of {
    my ($base, $count) = @_;
    pipe my $told, my $teller or die "pipe: $!\n";
    pipe my $held, my $holder or die "pipe: $!\n";
    my $pid = fork;
    die "fork: $!\n" unless defined $pid;
    if ($pid == 0) {
        close $holder;
        # Its number as the machine counts, whose /proc this is.
        my $own = readlink '/proc/self';
        syswrite $teller, defined Kernel::call('unshare', CLONE_NEWUSER) ? $own : "user namespace: $!";
        sysread $held, my ($end), 1;
        Kernel::leave(0);
    }
    close $teller;
    my $opened = eval {
        my $count_read = sysread $told, my ($number), 200;
        die "$number\n" unless $count_read && $number =~ /^\d+$/;
        Launch::write_file("/proc/$number/${_}_map", "0 $base $count") for qw(uid gid);
        open my $namespace, '<', "/proc/$number/ns/user" or die "user namespace: $!\n";
        $namespace;
    };
    my $error = $@;
    close $holder;
    waitpid $pid, 0;
    die $error unless $opened;
    return $opened;
}

# The image at a path below the present directory, read-only, its users those of the workload. `namespace`: of these, where
# there is one already.
sub show {
    my ($asked, $target, $namespace) = @_;
    my $attributes = Root::ATTR_RDONLY | Root::ATTR_NOSUID | Root::ATTR_NODEV;
    # All files are the one user's there is, or seen as the workload's already.
    my $is_shown = $Agent::has_one_user || $Agent::has_own_kernel || $asked->{image_is_shown};
    return Root::show($asked->{image}, $target, $attributes) if $is_shown;
    $namespace //= namespace_of($asked->{uid_base}, $asked->{uid_count});
    my $tree = Kernel::must('image', 'open_tree', Kernel::AT_FDCWD, $asked->{image}, OPEN_TREE_CLONE | Kernel::O_CLOEXEC);
    my $held = Kernel::handle($tree, '<');
    Kernel::must('users of an image', 'mount_setattr', $tree, '', AT_EMPTY_PATH,
        pack('Q4', $attributes | ATTR_IDMAP, 0, 0, fileno $namespace), 32);
    Kernel::must('image', 'move_mount', $tree, '', Kernel::AT_FDCWD, $target, MOVE_MOUNT_F_EMPTY_PATH);
}

# Makes the root below the present directory, and it the present one. What the workload must not see is beside it.
sub tree {
    my ($asked, $uid) = @_;
    Root::directory($_, 0755, 0) for qw(empty image disk workload);
    show($asked, 'image');
    Root::mount_disk($asked, 'disk');
    Root::directory("disk/$_", 0755, $uid) for qw(upper work);
    # Nothing in the layers names files of others, and no tenant can write there what would.
    my $options = 'lowerdir=image,upperdir=disk/upper,workdir=disk/work,index=off,metacopy=off,redirect_dir=nofollow';
    $options .= ',userxattr' if $Agent::has_one_user || $asked->{image_is_shown};
    Root::mount('svc', 'workload', 'overlay', Root::MS_NOSUID | Root::MS_NODEV, $options);
    my $is_new = !-d 'disk/ready';
    chdir 'workload' or die "workload: $!\n";
    first_files($asked, $uid) if $is_new;
    Root::directory('../disk/ready', 0755, $uid);
    for (qw(../disk ../image)) { Kernel::must('disk', 'umount2', $_, Root::MNT_DETACH) }
    Root::directory($_, 0755, $uid) for qw(run dev proc);
    Root::mount('svc', 'run', 'tmpfs', Root::MS_NOSUID | Root::MS_NODEV, 'size=16m,nr_inodes=1k,mode=1777');
}

# No part of the way is a link.
sub is_plain {
    my ($path) = @_;
    my $at = '.';
    for my $part (split m{/}, $path) {
        $at .= "/$part";
        return 0 if -l $at || !-d _;
    }
    return 1;
}

sub first_files {
    my ($asked, $uid) = @_;
    for my $path ($asked->{bare} ? @needed : sort keys %directories) {
        my ($above) = $path =~ m{^(.*)/};
        next if -e $path || -l $path || defined $above && !is_plain($above);
        Root::directory($path, $directories{$path}, $uid + ($path =~ /^(workspace|home\/user)$/ ? Root::user_id() : 0));
    }
    return unless is_plain('etc');
    users($uid) unless $asked->{bare};
    replace('resolv.conf', Link::RESOLV_CONF(), 0644, $uid);
    replace('hostname', "$asked->{hostname}\n", 0644, $uid);
    replace('hosts', Root::hosts($asked->{hostname}), 0644, $uid);
    symlink '../proc/self/mounts', 'etc/mtab' unless $asked->{bare};
}

# The image's users, and `user`, by which name 1000 is known whatever the image calls it.
sub users {
    my ($uid) = @_;
    my $shell = -e 'bin/bash' || -l 'bin/bash' ? '/bin/bash' : '/bin/sh';
    my %lines = (
        passwd => ["root:x:0:0:root:/root:/bin/sh\n", "user:x:1000:1000:user:/home/user:$shell\n", 0644],
        group  => ["root:x:0:\n",                     "user:x:1000:\n",                            0644],
        shadow => [undef,                             "user:*:19000:0:99999:7:::\n",               0640],
    );
    for my $name (sort keys %lines) {
        my ($otherwise, $line, $mode) = @{ $lines{$name} };
        my $text = content("etc/$name") // $otherwise;
        next if !defined $text || $text =~ /^user:/m;
        $text .= "\n" if length $text && $text !~ /\n\z/;
        $text =~ s/^(?=[^:\n]*:[^:\n]*:1000:)/$line/m or $text .= $line;
        replace($name, $text, $mode, $uid);
    }
}

# Of a regular file in the image, links resolved as in the workload.
sub content {
    my ($path) = @_;
    my $how = pack 'QQQ', Kernel::O_NONBLOCK | Kernel::O_CLOEXEC, 0, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    opendir my $here, '.' or die "root: $!\n";
    my $fd = Kernel::call('openat2', fileno $here, $path, $how, 24);
    return undef unless defined $fd;
    my $file = Kernel::handle($fd, '<');
    return undef unless -f $file && -s _ <= FILE_BYTES_MAX;
    my $text = '';
    1 while sysread $file, $text, 65_536, length $text;
    return $text;
}

# Takes the place of whatever has the name, be it a link.
sub replace {
    my ($name, $text, $mode, $uid) = @_;
    my $beside = 'etc/.svc-new';
    unlink $beside;
    Root::first_text($beside, $text, $uid);
    chmod $mode, $beside;
    rename $beside, "etc/$name" or unlink $beside;
}

1;
