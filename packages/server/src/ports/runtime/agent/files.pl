# Files: each path is opened as what it leads to, and where that is decides whether the call may have it. Nothing that
# happens to links meanwhile changes what was opened.
package Files;
use strict;
use warnings;

sub RESOLVE_NO_MAGICLINKS () { 2 }
sub PLACE ()                 { Kernel::O_PATH | Kernel::O_CLOEXEC }

my $temporary = 0;

# Gives a descriptor that stands for the place alone, or undef.
sub place {
    my ($path, $flags) = @_;
    my $fd = Kernel::call('openat2', Kernel::AT_FDCWD, $path, pack('QQQ', PLACE | $flags, 0, RESOLVE_NO_MAGICLINKS), 24);
    # Before Linux 5.6 links of /proc are followed too, to what is judged like the rest.
    $fd = Kernel::call('openat', Kernel::AT_FDCWD, $path, PLACE | $flags, 0) if !defined $fd && $! == Kernel::ENOSYS;
    return defined $fd ? Kernel::handle($fd, '<') : undef;
}

sub is_within {
    my ($handle, @roots) = @_;
    return 1 unless @roots;
    my $real = readlink '/proc/self/fd/' . fileno $handle;
    return grep { index("$real/", "$_/") == 0 } map { s{/+$}{}r } @roots;
}

# ENOTDIR, EISDIR, ENXIO, ENAMETOOLONG, ENOSPC, EDQUOT
my %reasons = (20 => 'not_a_file', 21 => 'not_a_file', 6 => 'not_a_file', 36 => 'not_a_file', 28 => 'no_space', 122 => 'no_space');

sub refuse {
    my ($id, $path) = @_;
    my $kind = $! == Kernel::ENOENT ? 'missing' : 'refused';
    Agent::fail($id, $kind, "$path: $!", $reasons{ $! + 0 });
}

sub open_read {
    my ($id, $path, @roots) = @_;
    my $place = place($path, 0) or return refuse($id, $path);
    return Agent::fail($id, 'refused', "$path leads out of where files may be read", 'outside')
        unless is_within($place, @roots);
    my (undef, undef, $mode, undef, undef, undef, undef, $size, undef, $modified_at) = stat $place;
    return Agent::fail($id, 'refused', "$path is not a file", 'not_a_file') unless -f _;
    sysopen my $file, '/proc/self/fd/' . fileno $place, Kernel::O_RDONLY | Kernel::O_NONBLOCK
        or return refuse($id, $path);
    Agent::send_frame('opened', $id, pack 'Q>NQ>', $size, $mode & 07777, $modified_at);
    Agent::source($id, 1, $file);
}

# The directory at a path, made if it is missing; undef when that was refused.
sub directory {
    my ($id, $path, $uid, @roots) = @_;
    my $place = place($path, Kernel::O_DIRECTORY);
    if ($place) {
        return $place if is_within($place, @roots);
        Agent::fail($id, 'refused', "$path leads out of where files may be written", 'outside');
        return;
    }
    my ($above, $name) = $path =~ m{^(.*)/([^/]+)$};
    if ($! != Kernel::ENOENT || !defined $name) {
        refuse($id, $path);
        return;
    }
    my $parent = directory($id, $above eq '' ? '/' : $above, $uid, @roots) or return;
    my $is_made = defined Kernel::call('mkdirat', fileno $parent, $name, 0755);
    my $fd = $is_made || $! == Kernel::EEXIST
        ? Kernel::call('openat', fileno $parent, $name, PLACE | Kernel::O_DIRECTORY | Kernel::O_NOFOLLOW, 0)
        : undef;
    if (!defined $fd) {
        refuse($id, $path);
        return;
    }
    chown $uid, $uid, "/proc/self/fd/$fd" if $is_made && !$Agent::has_one_user;
    return Kernel::handle($fd, '<');
}

sub open_write {
    my ($id, $path, $user, $mode, @roots) = @_;
    my ($above, $name) = $path =~ m{^(.*)/([^/]+)$}
        or return Agent::fail($id, 'refused', "$path is not a file", 'not_a_file');
    my $uid = $user eq 'root' ? 0 : Commands::USER_ID;
    my $directory = directory($id, $above eq '' ? '/' : $above, $uid, @roots) or return;
    my $at = fileno $directory;
    my $beside = sprintf '.svc-%d-%d', $$, $temporary++;
    my $flags = Kernel::O_WRONLY | Kernel::O_CREAT | Kernel::O_EXCL | Kernel::O_NOFOLLOW | Kernel::O_CLOEXEC;
    Kernel::call('unlinkat', $at, $beside, 0);
    my $fd = Kernel::call('openat', $at, $beside, $flags, 0600);
    return refuse($id, $path) unless defined $fd;
    my $channel = Agent::channel($id);
    $channel->{on_drop} = sub { Kernel::call('unlinkat', $at, $beside, 0); close $directory };
    Agent::sink($id, 0, Kernel::handle($fd, '>'), sub {
        my ($file) = @_;
        chown $uid, $uid, $file unless $Agent::has_one_user;
        chmod $mode, $file;
        return refuse($id, $path) unless close $file;
        return refuse($id, $path) unless defined Kernel::call('renameat', $at, $beside, $at, $name);
        delete $channel->{on_drop};
        Agent::send_frame('exited', $id, pack 'NN', 0, 0);
        Agent::drop($id);
    });
    $channel->{sinks}{0}{on_error} = sub { refuse($id, $path) };
    Agent::send_frame('opened', $id, '');
}

# What is in use: bytes of the disk (struct statfs, 64 bits), and the rest as Commands counts it.
sub usage {
    my ($id) = @_;
    my $found = Kernel::filled('disk', 'statfs', 120, '/workspace');
    my (undef, $block_size, $blocks, $free) = unpack 'q4', $found;
    my @killed = $Agent::has_own_kernel ? Commands::out_of_memory_kills() : ();
    Agent::send_frame('exited', $id, pack 'Q>*', ($blocks - $free) * $block_size, Commands::usage(), @killed);
    Agent::drop($id);
}

1;
