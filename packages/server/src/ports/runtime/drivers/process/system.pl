# The root of a workload that begins as the machine's own programs and may change them, for itself: its disk is the root,
# and on the machine's directories lies what it changed, which is on its disk too. What of the machine is its root's alone
# stays so: the lower of two overlays reads it without the rights that root has (see `lower`). What the workload left is
# never followed on the way.
package System;
use strict;
use warnings;

sub CAP_DAC_OVERRIDE ()    { 1 }
sub CAP_DAC_READ_SEARCH () { 2 }

my @beside_usr = qw(bin sbin lib lib32 lib64 libx32);
# What a package manager knows of the programs that are there.
my @records = qw(var/lib/dpkg);
# In them, root's alone: each workload has its own.
my @locks = map { "var/lib/dpkg/$_" } qw(lock lock-frontend triggers/Lock);
# Packages expect them.
my %directories = (
    'etc/apt' => 0755, (map { ("etc/apt/$_" => 0755) } qw(apt.conf.d preferences.d sources.list.d trusted.gpg.d)),
    'var/backups' => 0755, 'var/cache/apt' => 0755, 'var/cache/apt/archives' => 0755, 'var/cache/debconf' => 0755,
    'var/cache/ldconfig' => 0700, 'var/lib/apt' => 0755, 'var/lib/apt/lists' => 0755, 'var/lib/misc' => 0755,
    'var/local' => 0755, 'var/log/apt' => 0755, 'var/mail' => 02775, 'var/spool' => 0755,
);

# Makes the root below the present directory, and it the present one.
sub tree {
    my ($asked, $uid) = @_;
    Root::directory($_, 0755, 0) for qw(empty lower merged workload);
    Root::mount_disk($asked, 'workload');
    my $namespace = $asked->{image_is_shown} ? undef : Image::namespace_of(@$asked{qw(uid_base uid_count)});
    my @layers = map { [$_, lower($asked, $_, $namespace)] } shown();
    chdir 'workload' or die "workload: $!\n";
    chown $uid, $uid, '.';
    Root::directory($_, 0700, 0) for qw(.svc .svc/system);
    directories($uid);
    lay(@$_, $uid) for @layers;
    first_files($asked, $uid);
    Root::mount('svc', '.svc', 'tmpfs', Root::MS_NOSUID | Root::MS_NODEV, 'size=64k,nr_inodes=64,mode=755');
    Root::directory('.svc/empty', 0755, 0);
    Root::directory($_, 0755, $uid) for qw(run dev proc);
    Root::mount('svc', 'run', 'tmpfs', Root::MS_NOSUID | Root::MS_NODEV, 'size=16m,nr_inodes=1k,mode=1777');
}

# Directories of the machine.
sub shown { return ('usr', (grep { -d "/$_" && !-l "/$_" } @beside_usr), grep { -d "/$_" } @records) }

# A directory of the machine with the workload's users, in an overlay of its own whose rights are those of others:
# an overlay reads its layers as who mounted it.
sub lower {
    my ($asked, $path, $namespace) = @_;
    (my $flat = $path) =~ tr{/}{-};
    Root::directory("$_/$flat", 0755, 0) for qw(lower merged);
    Image::show({ %$asked, image => "/$path" }, "lower/$flat", $namespace);
    my $header = pack 'LL', 0x20080522, 0;
    my @sets = unpack 'L6', Kernel::filled('capabilities', 'capget', 24, $header);
    my @fewer = @sets;
    $fewer[0] &= ~(1 << CAP_DAC_OVERRIDE | 1 << CAP_DAC_READ_SEARCH);
    Kernel::must('capabilities', 'capset', $header, pack 'L6', @fewer);
    # The kernel asks for two layers.
    my $is_mounted = eval {
        my $flags = Root::MS_RDONLY | Root::MS_NOSUID | Root::MS_NODEV;
        Root::mount('svc', "merged/$flat", 'overlay', $flags, "lowerdir=lower/$flat:empty");
        1;
    };
    my $error = $@;
    Kernel::must('capabilities', 'capset', $header, pack 'L6', @sets);
    die $error unless $is_mounted;
    return $flat;
}

sub lay {
    my ($path, $flat, $uid) = @_;
    # Where the workload has put a link on the way, it does without.
    my ($above) = $path =~ m{^(.*)/};
    return if defined $above && !Image::is_plain($above);
    my $target = Root::target('.', $path);
    my $own = ".svc/system/$flat";
    Root::directory($own, 0700, 0);
    Root::directory("$own/$_", 0755, $uid) for qw(upper work);
    my $options = "lowerdir=../merged/$flat,upperdir=$own/upper,workdir=$own/work,index=off,metacopy=off,redirect_dir=nofollow";
    Root::mount('svc', $target, 'overlay', Root::MS_NOSUID | Root::MS_NODEV, $options);
}

# Where nothing is yet.
sub make_link {
    my ($to, $path, $uid) = @_;
    symlink $to, $path or return;
    # AT_SYMLINK_NOFOLLOW
    Kernel::must("link $path", 'fchownat', Kernel::AT_FDCWD, $path, $uid + 0, $uid + 0, 0x100);
}

sub directories {
    my ($uid) = @_;
    for my $name (@beside_usr) {
        make_link(readlink "/$name", $name, $uid) if -l "/$name";
    }
    my %all = (%Root::disk, %Root::below, %directories);
    for my $path (sort keys %all) {
        my ($above) = $path =~ m{^(.*)/};
        next if -l $path || -e _ || defined $above && !Image::is_plain($above);
        Root::directory($path, $all{$path}, $uid + ($Root::users_own{$path} ? Root::user_id() : 0));
    }
}

# Once. A computer that could not change its programs before has links where there are files of its own from now on.
sub first_files {
    my ($asked, $uid) = @_;
    return if -e '.svc/system/ready';
    if (Image::is_plain('etc')) {
        unlink grep { (readlink $_ // '') =~ m{^/\.svc/etc/} } map { "etc/$_" } qw(ld.so.cache ld.so.conf.d alternatives),
            Image::is_plain('etc/ssl') ? 'ssl/certs' : ();
        settings($asked->{settings}, $uid);
        Root::etc($asked->{hostname}, $uid);
    }
    unlink @locks;
    Root::empty_file('.svc/system/ready');
}

# Files and links as host-settings.ts writes them down: path, mode, text or where it leads.
sub settings {
    my ($from, $uid) = @_;
    open my $file, '<:raw', $from or die "settings: $!\n";
    local $/;
    my @all = unpack '(N/a*)*', scalar(<$file>) // '';
    while (my ($path, $mode, $content) = splice @all, 0, 3) {
        my ($above) = $path =~ m{^(.*)/};
        my $at = '';
        for my $part (split m{/}, $above) {
            $at .= length $at ? "/$part" : $part;
            Root::directory($at, 0755, $uid) unless -l $at || -e _;
        }
        next unless Image::is_plain($above);
        if ($mode eq 'link') {
            make_link($content, $path, $uid);
        } else {
            Root::first_text($path, $content, $uid);
            chmod oct $mode, $path unless -l $path || $mode eq '644';
        }
    }
}

1;
