# What a step of a build changes in the workload that it runs in. Looks at all files and says so; when a line comes, looks
# again, and writes a tar of what is new or different, with the marks of the OCI image specification for what is gone.
use strict;
use warnings;

my %left_out = map { $_ => 1 } qw(/proc /sys /dev /run /.svc /lost+found /etc/resolv.conf /etc/hosts /etc/hostname
    /etc/.svc-new), @ARGV;
my $DIRECTORY = 0040000;

sub kind_of { $_[0] & 0170000 }

# Path to what tells one state of a file from another.
sub look {
    my %seen;
    my @left = ('');
    while (defined(my $above = shift @left)) {
        opendir my $handle, $above eq '' ? '/' : $above or next;
        for my $name (sort readdir $handle) {
            next if $name eq '.' || $name eq '..';
            my $path = "$above/$name";
            next if $left_out{$path};
            my (undef, $ino, $mode, $links, $uid, $gid, undef, $size, undef, $mtime, $ctime) = lstat $path or next;
            my $kind = kind_of($mode);
            if ($kind == $DIRECTORY) {
                $seen{$path} = [$mode, $uid, $gid, 0, $mtime, 0, 0, 0];
                push @left, $path;
            } else {
                $seen{$path} = [$mode, $uid, $gid, $size, $mtime, $ctime, $ino, $links];
            }
        }
        closedir $handle;
    }
    return \%seen;
}

sub same {
    my ($one, $other) = @_;
    return 0 unless $other;
    $one->[$_] == $other->[$_] or return 0 for 0 .. 5;
    return 1;
}

my $out = '';

sub put {
    $out .= $_[0];
    flush() if length $out >= 262_144;
}

sub flush {
    while (length $out) {
        my $count = syswrite STDOUT, $out;
        exit 1 unless $count;
        substr $out, 0, $count, '';
    }
}

sub pad { put("\0" x ((512 - $_[0] % 512) % 512)) }

sub header {
    my ($path, $mode, $uid, $gid, $size, $mtime, $type, $link) = @_;
    my $fields = pack 'a100 a8 a8 a8 a12 a12 A8 a1 a100 a6 a2 a32 a32 a8 a8 a155 a12', $path,
        sprintf('%07o', $mode & 07777), sprintf('%07o', $uid), sprintf('%07o', $gid), sprintf('%011o', $size),
        sprintf('%011o', $mtime), '', $type, $link, 'ustar', '00', '', '', '', '', '', '';
    substr $fields, 148, 8, sprintf "%06o\0 ", unpack '%32C*', $fields;
    put($fields);
}

sub record {
    my ($name, $value) = @_;
    my $length = length(" $name=$value\n");
    my $all = $length + length $length;
    $all = $length + length $all while length($all) + $length != $all;
    return "$all $name=$value\n";
}

sub entry {
    my ($path, $mode, $uid, $gid, $size, $mtime, $type, $link) = @_;
    $mtime = 0 if $mtime < 0;
    my $more = '';
    $more .= record(path     => $path) if length $path > 100;
    $more .= record(linkpath => $link) if length $link > 100;
    $more .= record(size     => $size) if $size > 8_589_934_591;
    if (length $more) {
        header('pax', 0644, 0, 0, length $more, $mtime, 'x', '');
        put($more);
        pad(length $more);
    }
    header(substr($path, 0, 100), $mode, $uid, $gid, $size > 8_589_934_591 ? 0 : $size, $mtime, $type, substr $link, 0, 100);
}

sub content {
    my ($path, $size) = @_;
    my $left = $size;
    if (open my $file, '<:raw', $path) {
        while ($left > 0) {
            my $count = sysread $file, my ($bytes), $left > 262_144 ? 262_144 : $left;
            last unless $count;
            put($bytes);
            $left -= $count;
        }
    }
    while ($left > 0) {
        my $count = $left > 262_144 ? 262_144 : $left;
        put("\0" x $count);
        $left -= $count;
    }
    pad($size);
}

my %first_of;

sub write_entry {
    my ($path, $state) = @_;
    my ($mode, $uid, $gid, $size, $mtime, undef, $ino, $links) = @$state;
    my $name = substr $path, 1;
    my $kind = kind_of($mode);
    return entry("$name/", $mode, $uid, $gid, 0, $mtime, '5', '') if $kind == $DIRECTORY;
    return entry($name, $mode, $uid, $gid, 0, $mtime, '2', readlink($path) // '') if $kind == 0120000;
    return unless $kind == 0100000;
    if ($links > 1 && defined $first_of{$ino}) {
        return entry($name, $mode, $uid, $gid, 0, $mtime, '1', $first_of{$ino});
    }
    $first_of{$ino} = $name;
    entry($name, $mode, $uid, $gid, $size, $mtime, '0', '');
    content($path, $size);
}

sub gone {
    my ($path) = @_;
    my ($above, $name) = $path =~ m{^/(?:(.*)/)?([^/]+)$};
    entry((defined $above ? "$above/" : '') . ".wh.$name", 0644, 0, 0, 0, 0, '0', '');
}

my $before = look();
syswrite STDOUT, "ready\n";
exit 0 unless defined sysread STDIN, my ($line), 1;
my $after = look();
for my $path (sort keys %$after) {
    next if $path =~ m{/\.wh\.[^/]*$};
    write_entry($path, $after->{$path}) unless same($after->{$path}, $before->{$path});
}
for my $path (sort keys %$before) {
    next if $after->{$path};
    my ($above) = $path =~ m{^(.*)/};
    # What was in a directory that is gone, or is none any more, went with it.
    next if $above ne '' && (!$after->{$above} || kind_of($after->{$above}[0]) != $DIRECTORY);
    gone($path);
}
put("\0" x 1024);
flush();
