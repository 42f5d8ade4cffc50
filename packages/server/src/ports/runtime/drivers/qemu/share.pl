# What of the machine a guest sees: answers the requests of a FUSE file system (linux/fuse.h) whose root is this process's
# own. Nothing can be written, and what is not a name in a directory is no path.
package Share;
use strict;
use warnings;

sub ROOT_ID ()     { 1 }
sub READ_MAX ()    { 131_072 }
sub FOREVER_S ()   { 3600 }
sub STATX_BASIC () { 0x7ff }
sub NOFOLLOW ()    { 0x100 }

# ASYNC_READ, AUTO_INVAL_DATA, NO_OPEN_SUPPORT, PARALLEL_DIROPS, CACHE_SYMLINKS, NO_OPENDIR_SUPPORT
sub FLAGS () { 1 | 1 << 12 | 1 << 17 | 1 << 18 | 1 << 23 | 1 << 24 }
sub EIO ()    { 5 }
sub ENOENT () { 2 }
sub EROFS ()  { 30 }
sub ESTALE () { 116 }

# By number: the path and the inode that was there; a file that took its place is another one.
my @nodes = (undef, ['', 0]);
my %numbers;

sub number_of {
    my ($path, $inode) = @_;
    my $key = "$path\0$inode";
    return $numbers{$key} //= push(@nodes, [$path, $inode]) - 1;
}

# So that a copy of the guest means the same with them.
sub save { join '', map { pack 'N/a* Q>', @$_ } @nodes[2 .. $#nodes] }
sub restore { my @all = unpack '(N/a* Q>)*', $_[0]; number_of(splice @all, 0, 2) while @all }

# Set where this process sees the users of an image as the image does: which user of the machine its first one is.
our $users_from;

# Others have no name here then.
sub owners {
    my ($path, @numbers) = @_;
    return @numbers unless defined $users_from;
    return $path =~ m{^/image(?:/|\z)} ? map { $users_from + $_ } @numbers : (0, 0);
}

# What is mounted for a workload may change at any time, and is asked for each time.
sub validity { $_[0] =~ m{^/mounts/} ? 0 : FOREVER_S }

# Gives the inode's number and struct fuse_attr, whose inode is the node's number.
sub attributes {
    my ($path, $number) = @_;
    my @place = (Kernel::AT_FDCWD, $path eq '' ? '/' : $path, NOFOLLOW, STATX_BASIC);
    my $found = eval { Kernel::filled('file', 'statx', 256, @place) } // return;
    my ($block_size, $links, $uid, $gid, $mode, $inode, $size, $blocks) = unpack 'x4 L x8 L3 S x2 Q3', $found;
    my @times = map { unpack "x$_ q L", $found } 64, 112, 96;
    my ($major, $minor) = unpack 'x128 L2', $found;
    my $device = $minor & 0xff | $major << 8 | ($minor & ~0xff) << 12;
    ($uid, $gid) = owners($path, $uid, $gid);
    $number //= number_of($path, $inode);
    return ($number, pack 'Q6 L10', $number, $size, $blocks, @times[0, 2, 4], @times[1, 3, 5], $mode, $links, $uid,
        $gid, $device, $block_size, 0);
}

sub lookup {
    my ($path, $arguments) = @_;
    my ($name) = unpack 'Z*', $arguments;
    my $below = "$path/$name";
    my ($number, $attributes) = attributes($below);
    my $validity = validity($below);
    # That a name is not there is remembered too.
    return \pack 'Q4 L2 x88', 0, 0, $validity, 0, 0, 0 if !defined $number && $! == ENOENT && $validity;
    return $! + 0 unless defined $number;
    return \(pack('Q4 L2', $number, 0, $validity, $validity, 0, 0) . $attributes);
}

sub getattr {
    my ($path, undef, $number) = @_;
    my (undef, $attributes) = attributes($path, $number) or return $! + 0;
    return \(pack('Q L2', validity($path), 0, 0) . $attributes);
}

sub read_file {
    my ($path, $arguments, $number) = @_;
    my ($offset, $size) = unpack 'x8 Q L', $arguments;
    # Who asks waits for nothing but this: a file that is no regular one has no bytes here.
    sysopen my $file, $path, Kernel::O_RDONLY | Kernel::O_NOFOLLOW | Kernel::O_NONBLOCK or return $! + 0;
    return ESTALE if (stat $file)[1] != $nodes[$number][1] || !-f _;
    sysseek $file, $offset, 0 or return $! + 0;
    my $count = sysread $file, my ($bytes), $size > READ_MAX ? READ_MAX : $size;
    return defined $count ? \$bytes : $! + 0;
}

# struct fuse_dirent: inode (unknown), offset of the next, length of the name, kind (unknown), name
sub read_directory {
    my ($path, $arguments) = @_;
    my ($offset, $size) = unpack 'x8 Q L', $arguments;
    opendir my $directory, $path eq '' ? '/' : $path or return $! + 0;
    my @names = sort readdir $directory;
    my $listed = '';
    for my $index ($offset .. $#names) {
        my $entry = pack 'Q2 L2 a*', 0xffff_ffff, $index + 1, length $names[$index], 0, $names[$index];
        $entry .= "\0" x (-length($entry) & 7);
        last if length($listed) + length $entry > $size;
        $listed .= $entry;
    }
    return \$listed;
}

my $silent = sub { undef };
my $unknown = sub { 38 };
my %calls = (
    1 => \&lookup,
    3 => \&getattr,
    5 => sub { my $target = readlink $_[0]; defined $target ? \$target : $! + 0 },
    15 => \&read_file,
    17 => sub { \pack 'Q5 L4 x24', 0, 0, 0, 0, 0, 4096, 255, 4096, 0 },
    28 => \&read_directory,
    # INIT: major, minor, readahead, flags, background requests, congestion, write size, grain of times, pages
    26 => sub { \pack 'L4 S2 L2 S2 x32', 7, 31, READ_MAX, FLAGS, 16, 12, 4096, 1, READ_MAX / 4096, 0 },
    # FORGET, BATCH_FORGET, INTERRUPT want no answer.
    (map { $_ => $silent } 2, 42, 36),
    # OPEN, GETXATTR, LISTXATTR, FLUSH, OPENDIR, ACCESS, IOCTL, POLL, LSEEK, READDIRPLUS: the kernel does without.
    (map { $_ => $unknown } 14, 22, 23, 25, 27, 34, 39, 40, 44, 46),
);

# A request without its length, as it came; gives what is to be sent, or undef. A call gives a reference to bytes, the
# number of an error, or nothing.
sub answer {
    my ($request) = @_;
    my ($opcode, $unique, $number) = unpack 'L Q Q', $request;
    my $call = $calls{$opcode} // sub { EROFS };
    my $node = $nodes[$number || ROOT_ID];
    my $given = $node ? $call->($node->[0], substr($request, 36), $number) : ESTALE;
    return unless defined $given;
    return pack('L l Q', 16 + length $$given, 0, $unique) . $$given if ref $given;
    return pack 'L l Q', 16, -($given || EIO), $unique;
}

1;
