# The root of a workload, made of mounts: a small tree of our own that is read-only, the machine's programs, and a disk
# of which the workload's directories are parts. What the workload could have changed is never followed on the way.
package Root;
use strict;
use warnings;

sub MS_RDONLY ()  { 1 }
sub MS_NOSUID ()  { 2 }
sub MS_NODEV ()   { 4 }
sub MS_NOEXEC ()  { 8 }
sub MS_REMOUNT () { 32 }
sub MS_BIND ()    { 4096 }
sub MS_REC ()     { 16384 }
sub MS_PRIVATE () { 1 << 18 }
sub MNT_DETACH () { 2 }

# The machine gives out 3072 in all.
sub TERMINALS_MAX () { 64 }

sub ATTR_RDONLY ()  { 1 }
sub ATTR_NOSUID ()  { 2 }
sub ATTR_NODEV ()   { 4 }
sub AT_RECURSIVE () { 0x8000 }

my @devices = qw(null zero full random urandom tty);
my %links = (fd => '/proc/self/fd', stdin => 'fd/0', stdout => 'fd/1', stderr => 'fd/2', ptmx => 'pts/ptmx');
# Directories of the disk, with their modes.
our %disk = (
    etc => 0755, home => 0755, mnt => 0755, opt => 0755, root => 0700, srv => 0755, tmp => 01777, var => 0755,
    workspace => 0755,
);
our %below = (
    'home/user' => 0750, 'var/cache' => 0755, 'var/lib' => 0755, 'var/log' => 0755, 'var/tmp' => 01777,
    'etc/ssl' => 0755,
);
our %users_own = map { $_ => 1 } qw(workspace home/user);
our @hidden_files = qw(kcore keys key-users kmsg kallsyms kpagecount kpagecgroup kpageflags sched_debug sysrq-trigger
    timer_list config.gz modules vmallocinfo slabinfo vmcore iomem ioports);
our @hidden_directories = qw(acpi asound scsi driver bus fs irq tty dynamic_debug pressure);

my %etc = (
    passwd => "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000:user:/home/user:/bin/bash\n"
        . "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    group => "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n",
    shadow => "root:*:19000:0:99999:7:::\nuser:*:19000:0:99999:7:::\n",
    'nsswitch.conf' => "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
    'resolv.conf' => Link::RESOLV_CONF,
    shells => "/bin/sh\n/bin/bash\n",
    'ld.so.conf' => "include /etc/ld.so.conf.d/*.conf\n",
    profile => "umask 022\n[ -n \"\$PS1\" ] && PS1='\\u\@\\h:\\w\\\$ '\n",
);

sub mount {
    my ($source, $target, $type, $flags, $data) = @_;
    Kernel::must("mount $target", 'mount', $source, $target, $type, $flags, $data // '');
}

sub show {
    my ($source, $target, $attributes) = @_;
    mount($source, $target, '', MS_BIND | MS_REC);
    restrict($target, $attributes) if $attributes;
}

sub restrict {
    my ($target, $attributes) = @_;
    Kernel::must("mount $target", 'mount_setattr', Kernel::AT_FDCWD, $target, AT_RECURSIVE,
        pack('Q4', $attributes, 0, 0, 0), 32);
}

sub directory {
    my ($path, $mode, $uid) = @_;
    return if -d $path && !-l $path;
    mkdir $path, $mode or die "directory $path: $!\n";
    chmod $mode, $path;
    chown $uid, $uid, $path;
}

sub empty_file {
    my ($path) = @_;
    sysopen my $file, $path, Kernel::O_WRONLY | Kernel::O_CREAT, 0644 or die "file $path: $!\n";
}

# In a directory that is the workload's own: nothing that stands there is written to.
sub first_text {
    my ($path, $text, $uid) = @_;
    sysopen my $file, $path, Kernel::O_WRONLY | Kernel::O_CREAT | Kernel::O_EXCL | Kernel::O_NOFOLLOW, 0644 or return;
    syswrite $file, $text if length $text;
    chown $uid, $uid, $file;
}

# A mount's target; each part of its way is a directory or is made.
sub target {
    my ($root, $path) = @_;
    my $at = $root;
    for my $part (split m{/+}, $path) {
        next if $part eq '';
        die "mount $path: not a path\n" if $part eq '.' || $part eq '..';
        $at .= "/$part";
        die "mount $path: a link stands in its way\n" if -l $at;
        -d $at || mkdir $at, 0755 or die "mount $path: $!\n";
    }
    return $at;
}

sub build {
    my ($asked, $uid) = @_;
    begin($asked->{root_at});
    my $is_changeable = own_tree($asked, $uid);
    tree($asked, $uid) unless $is_changeable;
    devices($uid);
    proc($uid, $asked->{image} ? '../empty' : '.svc/empty');
    for (@{ $asked->{mount} }) {
        my ($source, $target) = unpack 'N/a* N/a*', $_;
        show($source, target('.', $target), ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV);
    }
    finish() unless $is_changeable;
    enter();
}

# Of a workload that may change all that it begins with; whether it is one.
sub own_tree {
    my ($asked, $uid) = @_;
    return 0 unless $asked->{image} || $asked->{settings};
    $asked->{image} ? Image::tree($asked, $uid) : System::tree($asked, $uid);
    return 1;
}

# A small tree of our own, where the process then stands; nothing of it is seen outside of its mount namespace.
sub begin {
    my ($root) = @_;
    mount('none', '/', '', MS_REC | MS_PRIVATE);
    plant($root);
}

sub plant {
    my ($root) = @_;
    mount('svc', $root, 'tmpfs', MS_NOSUID | MS_NODEV, 'size=1m,nr_inodes=1k,mode=755');
    chdir $root or die "$root: $!\n";
}

# What every workload has, whatever its kernel.
sub tree {
    my ($asked, $uid) = @_;
    directory(".svc", 0755, $uid);
    directory(".svc/$_", 0755, $uid) for qw(empty etc disk);
    programs();
    disk($asked, $uid);
    directory($_, 01777, $uid) for qw(run);
    mount('svc', 'run', 'tmpfs', MS_NOSUID | MS_NODEV, 'size=16m,nr_inodes=1k,mode=1777');
}

sub finish {
    Kernel::must('root', 'mount', 'svc', '.', '', MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, '');
}

sub enter {
    Kernel::must('root', 'pivot_root', '.', '.');
    Kernel::must('root', 'umount2', '.', MNT_DETACH);
    chdir '/' or die "root: $!\n";
}

# /usr is the machine's, and so is what old systems keep beside it.
sub usr {
    directory('usr', 0755, 0);
    show('/usr', 'usr', ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV);
    for my $name (qw(bin sbin lib lib32 lib64 libx32)) {
        if (-l "/$name") {
            symlink readlink "/$name", $name;
        } elsif (-d "/$name") {
            directory($name, 0755, 0);
            show("/$name", $name, ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV);
        }
    }
}

sub programs {
    usr();
    for my $name (qw(alternatives ssl/certs ld.so.conf.d)) {
        next unless -d "/etc/$name";
        (my $flat = $name) =~ tr{/}{-};
        directory(".svc/etc/$flat", 0755, 0);
        show("/etc/$name", ".svc/etc/$flat", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV);
    }
    return unless -f '/etc/ld.so.cache';
    empty_file('.svc/etc/ld.so.cache');
    show('/etc/ld.so.cache', '.svc/etc/ld.so.cache', ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV);
}

sub devices {
    my ($uid) = @_;
    directory('dev', 0755, $uid);
    mount('svc', 'dev', 'tmpfs', MS_NOSUID | MS_NOEXEC, 'size=64k,nr_inodes=64,mode=755');
    for my $name (@devices) {
        empty_file("dev/$name");
        show("/dev/$name", "dev/$name", 0);
    }
    directory("dev/$_", 0755, $uid) for qw(pts shm);
    my $terminals = 'newinstance,ptmxmode=0666,mode=0620,max=' . TERMINALS_MAX;
    mount('svc', 'dev/pts', 'devpts', MS_NOSUID | MS_NOEXEC, $terminals);
    mount('svc', 'dev/shm', 'tmpfs', MS_NOSUID | MS_NODEV, 'size=64m,nr_inodes=4k,mode=1777');
    symlink $links{$_}, "dev/$_" for keys %links;
    Kernel::must('devices', 'mount', 'svc', 'dev', '', MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, '');
}

sub mount_disk {
    my ($asked, $target) = @_;
    my ($kind, $of) = split /:/, $asked->{disk}, 2;
    if ($kind eq 'memory') {
        mount('svc', $target, 'tmpfs', MS_NOSUID | MS_NODEV, "size=$of,mode=755");
    } elsif ($kind eq 'file') {
        my ($device, $open) = loop_device($of);
        mount($device, $target, 'ext4', MS_NOSUID | MS_NODEV, '');
        close $open;
    } elsif ($kind eq 'device') {
        mount($of, $target, 'ext4', MS_NOSUID | MS_NODEV, '');
    } else {
        show($of, $target, ATTR_NOSUID | ATTR_NODEV);
    }
}

sub disk {
    my ($asked, $uid) = @_;
    mount_disk($asked, '.svc/disk');
    disk_directories('.svc/disk', $uid);
    for my $name (sort keys %disk) {
        directory($name, 0755, $uid);
        mount(".svc/disk/$name", $name, '', MS_BIND);
    }
    # Its top has no name in the workload, so nobody could put something else in place of a directory.
    Kernel::must('disk', 'umount2', '.svc/disk', MNT_DETACH);
    directories_below($uid);
    etc($asked->{hostname}, $uid);
}

sub disk_directories {
    my ($at, $uid) = @_;
    directory("$at/$_", $disk{$_}, $uid + ($users_own{$_} ? user_id() : 0)) for sort keys %disk;
}

sub directories_below {
    my ($uid) = @_;
    for my $name (sort keys %below) {
        next if -e $name || -l $name;
        directory($name, $below{$name}, $uid + ($users_own{$name} ? user_id() : 0));
    }
}

sub user_id { $Agent::has_one_user ? 0 : Commands::USER_ID }

sub hosts { "127.0.0.1 localhost $_[0]\n::1 localhost ip6-localhost\n" }

sub etc {
    my ($hostname, $uid) = @_;
    return if -l 'etc/hostname' || -e 'etc/hostname';
    first_text("etc/$_", $etc{$_}, $uid) for sort keys %etc;
    first_text('etc/hosts', hosts($hostname), $uid);
    symlink '../usr/lib/os-release', 'etc/os-release';
    symlink '../proc/self/mounts', 'etc/mtab';
    symlink '/.svc/etc/ld.so.cache', 'etc/ld.so.cache';
    symlink '/.svc/etc/ld.so.conf.d', 'etc/ld.so.conf.d';
    symlink '/.svc/etc/alternatives', 'etc/alternatives';
    symlink '/.svc/etc/ssl-certs', 'etc/ssl/certs' unless -l 'etc/ssl';
    first_text('etc/hostname', "$hostname\n", $uid);
}

# LOOP_CTL_GET_FREE, LOOP_CONFIGURE with LO_FLAGS_AUTOCLEAR: the device is free again when the mount is gone.
sub loop_device {
    my ($path) = @_;
    sysopen my $backing, $path, 2 or die "$path: $!\n";
    sysopen my $control, '/dev/loop-control', 2 or die "loop devices: $!\n";
    # One after another, or many that start at once take the free one from each other. Only other programs still may.
    flock $control, 2 or die "loop devices: $!\n";
    for (1 .. 20) {
        my $number = ioctl $control, 0x4C82, 0;
        defined $number or die "loop devices: $!\n";
        my $device = '/dev/loop' . ($number + 0);
        sysopen my $open, $device, 2 or die "$device: $!\n";
        # struct loop_config: fd, block_size, struct loop_info64 (its lo_flags at byte 52), 64 bytes reserved
        my $config = pack 'LL x52 L x176 x64', fileno $backing, 0, 4;
        return ($device, $open) if ioctl $open, 0x4C0A, $config;
        die "$device: $!\n" unless $! == 16;
    }
    die "loop devices: none is free\n";
}

# Of the processes that are there; another driver's have one that is mounted already.
our $mount_proc = sub {
    my ($uid) = @_;
    mount('svc', 'proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=2,gid=$uid");
    my $is_there = '/proc/sys/net/ipv4/ip_unprivileged_port_start';
    Launch::write_file('proc/sys/net/ipv4/ip_unprivileged_port_start', '0') if -e $is_there;
};

# `empty` is a directory that stands for those that are hidden.
sub proc {
    my ($uid, $empty) = @_;
    directory('proc', 0555, $uid);
    $mount_proc->($uid);
    show('dev/null', "proc/$_", 0) for grep { -e "proc/$_" } @hidden_files;
    show($empty, "proc/$_", ATTR_RDONLY) for grep { -d "proc/$_" } @hidden_directories;
    show('proc/sys', 'proc/sys', ATTR_RDONLY);
}

1;
