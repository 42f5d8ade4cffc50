# Serves files over descriptors 0 and 1 (SFTP version 3, draft-ietf-secsh-filexfer-02, with what OpenSSH adds), as whoever
# started it and with no rights beyond his. Takes the two names of a link in the order of OpenSSH, as clients send them.
# Perl's base is all it needs.
use strict;
use warnings;
use Fcntl qw(:DEFAULT :mode);

$0 = 'sftp-server';
binmode $_ for *STDIN, *STDOUT;

sub PACKET_MAX ()  { 262_144 }
sub DATA_MAX ()    { 261_120 }
sub HANDLES_MAX () { 512 }
sub ENTRIES_MAX () { 100 }
sub LINKS_MAX ()   { 40 }

my %types = (
    3 => \&do_open, 4 => \&do_close, 5 => \&do_read, 6 => \&do_write, 7 => \&do_lstat, 8 => \&do_fstat,
    9 => \&do_setstat, 10 => \&do_fsetstat, 11 => \&do_opendir, 12 => \&do_readdir, 13 => \&do_remove,
    14 => \&do_mkdir, 15 => \&do_rmdir, 16 => \&do_realpath, 17 => \&do_stat, 18 => \&do_rename,
    19 => \&do_readlink, 20 => \&do_symlink, 200 => \&do_extended,
);
my %extensions = (
    'posix-rename@openssh.com' => sub { outcome($_[0], rename $_[1], $_[2]) },
    'hardlink@openssh.com'     => sub { outcome($_[0], link $_[1], $_[2]) },
    'expand-path@openssh.com'  => sub { name_reply($_[0], resolve($_[1] =~ s{^~(?=/|\z)}{$ENV{HOME}}r)) },
    'limits@openssh.com'       => sub { reply(201, $_[0], pack 'Q>4', PACKET_MAX, DATA_MAX, DATA_MAX, HANDLES_MAX) },
);
my (%handles, $last_handle);

# What a client sends that is not what it should be.
sub bad { die "bad message\n" }

sub take_number { length ${ $_[0] } >= 4 or bad(); unpack 'N', substr ${ $_[0] }, 0, 4, '' }
sub take_long   { length ${ $_[0] } >= 8 or bad(); unpack 'Q>', substr ${ $_[0] }, 0, 8, '' }

sub take_text {
    my $length = take_number($_[0]);
    $length <= length ${ $_[0] } or bad();
    return substr ${ $_[0] }, 0, $length, '';
}

sub take_path {
    my $path = take_text($_[0]);
    bad() if $path =~ /\0/;
    return $path eq '' ? '.' : $path;
}

sub take_attributes {
    my ($rest) = @_;
    my $flags = take_number($rest);
    my %attributes;
    $attributes{size} = take_long($rest) if $flags & 1;
    @attributes{qw(uid gid)} = (take_number($rest), take_number($rest)) if $flags & 2;
    $attributes{mode} = take_number($rest) & 07777 if $flags & 4;
    @attributes{qw(atime mtime)} = (take_number($rest), take_number($rest)) if $flags & 8;
    return \%attributes;
}

sub take_handle {
    my $handle = $handles{ take_text($_[0]) } or die "no such handle\n";
    return $handle;
}

sub send_packet {
    my $packet = pack 'N/a*', $_[0];
    while (length $packet) {
        my $written = syswrite STDOUT, $packet;
        exit 0 unless defined $written;
        substr $packet, 0, $written, '';
    }
}

sub reply { my ($type, $id, $payload) = @_; send_packet(pack('CN', $type, $id) . $payload) }

# 0 done, 1 the end, 2 no such file, 3 not permitted, 4 failed, 5 bad message, 8 not supported
sub status { my ($id, $code, $text) = @_; reply(101, $id, pack 'N N/a* N/a*', $code, $text // '', '') }

my %code_by_errno = (2 => 2, 20 => 2, 40 => 2, 1 => 3, 13 => 3);

sub failure { my ($id) = @_; status($id, $code_by_errno{ $! + 0 } // 4, "$!") }

sub outcome { my ($id, $is_done) = @_; $is_done ? status($id, 0, 'Success') : failure($id) }

sub attributes {
    my (@stat) = @_;
    return pack 'N Q> N5', 15, $stat[7], $stat[4], $stat[5], $stat[2], $stat[8] & 0xffff_ffff, $stat[9] & 0xffff_ffff;
}

sub stat_reply { my ($id, @stat) = @_; @stat ? reply(105, $id, attributes(@stat)) : failure($id) }

sub name_reply { my ($id, $path) = @_; reply(104, $id, pack 'N N/a* N/a* N', 1, $path, $path, 0) }

sub new_handle {
    my ($handle) = @_;
    my $name = ++$last_handle;
    $handles{$name} = $handle;
    return $name;
}

sub do_open {
    my ($id, $rest) = @_;
    my ($path, $flags, $attributes) = (take_path($rest), take_number($rest), take_attributes($rest));
    return status($id, 4, 'too many files are open') if keys %handles >= HANDLES_MAX;
    my $how = ($flags & 3) == 3 ? O_RDWR : $flags & 2 ? O_WRONLY : O_RDONLY;
    $how |= O_APPEND if $flags & 4;
    $how |= O_CREAT  if $flags & 8;
    $how |= O_TRUNC  if $flags & 16;
    $how |= O_EXCL   if $flags & 32;
    sysopen my $file, $path, $how, $attributes->{mode} // 0666 or return failure($id);
    return status($id, 4, 'Is a directory') if -d $file;
    binmode $file;
    reply(102, $id, pack 'N/a*', new_handle({ file => $file, path => $path, appends => $flags & 4 }));
}

sub do_close {
    my ($id, $rest) = @_;
    my $handle = delete $handles{ take_text($rest) } or return status($id, 4, 'no such handle');
    outcome($id, $handle->{file} ? close $handle->{file} : closedir $handle->{directory});
}

sub do_read {
    my ($id, $rest) = @_;
    my ($handle, $at, $length) = (take_handle($rest), take_long($rest), take_number($rest));
    my $file = $handle->{file} or return status($id, 4, 'not a file');
    $length = DATA_MAX if $length > DATA_MAX;
    defined sysseek $file, $at, 0 or return failure($id);
    my $count = sysread $file, my ($bytes), $length;
    return failure($id) unless defined $count;
    return status($id, 1, 'End of file') if $count == 0 && $length > 0;
    reply(103, $id, pack 'N/a*', $bytes);
}

sub do_write {
    my ($id, $rest) = @_;
    my ($handle, $at, $bytes) = (take_handle($rest), take_long($rest), take_text($rest));
    my $file = $handle->{file} or return status($id, 4, 'not a file');
    $handle->{appends} || defined sysseek $file, $at, 0 or return failure($id);
    while (length $bytes) {
        my $written = syswrite $file, $bytes;
        return failure($id) unless defined $written;
        substr $bytes, 0, $written, '';
    }
    status($id, 0, 'Success');
}

sub do_lstat { my ($id, $rest) = @_; stat_reply($id, lstat take_path($rest)) }
sub do_stat  { my ($id, $rest) = @_; stat_reply($id, stat take_path($rest)) }

sub do_fstat {
    my ($id, $rest) = @_;
    my $handle = take_handle($rest);
    stat_reply($id, stat($handle->{file} // $handle->{path}));
}

sub change {
    my ($id, $target, $attributes) = @_;
    my $is_done = 1;
    $is_done &&= truncate $target, $attributes->{size} if defined $attributes->{size};
    $is_done &&= chmod $attributes->{mode}, $target if defined $attributes->{mode};
    $is_done &&= utime $attributes->{atime}, $attributes->{mtime}, $target if defined $attributes->{mtime};
    $is_done &&= chown $attributes->{uid}, $attributes->{gid}, $target if defined $attributes->{uid};
    outcome($id, $is_done);
}

sub do_setstat { my ($id, $rest) = @_; my $path = take_path($rest); change($id, $path, take_attributes($rest)) }

sub do_fsetstat {
    my ($id, $rest) = @_;
    my $handle = take_handle($rest);
    change($id, $handle->{file} // $handle->{path}, take_attributes($rest));
}

sub do_opendir {
    my ($id, $rest) = @_;
    my $path = take_path($rest);
    return status($id, 4, 'too many files are open') if keys %handles >= HANDLES_MAX;
    opendir my $directory, $path or return failure($id);
    reply(102, $id, pack 'N/a*', new_handle({ directory => $directory, path => $path }));
}

my %letters = (S_IFDIR, 'd', S_IFLNK, 'l', S_IFCHR, 'c', S_IFBLK, 'b', S_IFIFO, 'p', S_IFSOCK, 's');
my @months = qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec);
my (%users, %groups);

# As `ls -l` writes it, for people.
sub long_name {
    my ($name, @stat) = @_;
    my $mode  = $stat[2];
    my $bits  = join '', map { $mode & 1 << $_ ? (qw(x w r))[$_ % 3] : '-' } reverse 0 .. 8;
    my $user  = $users{ $stat[4] }  //= getpwuid($stat[4]) // $stat[4];
    my $group = $groups{ $stat[5] } //= getgrgid($stat[5]) // $stat[5];
    my (undef, $minute, $hour, $day, $month, $year) = localtime $stat[9];
    my $time = abs(time - $stat[9]) < 180 * 86_400 ? sprintf('%02d:%02d', $hour, $minute) : sprintf('%5d', $year + 1900);
    return sprintf '%s%s %4d %-8s %-8s %8d %s %2d %s %s', $letters{ S_IFMT($mode) } // '-', $bits, $stat[3], $user, $group,
        $stat[7], $months[$month], $day, $time, $name;
}

sub do_readdir {
    my ($id, $rest) = @_;
    my $handle = take_handle($rest);
    my $directory = $handle->{directory} or return status($id, 4, 'not a directory');
    my @entries;
    while (@entries < ENTRIES_MAX && defined(my $name = readdir $directory)) {
        my @stat = lstat "$handle->{path}/$name" or next;
        push @entries, pack('N/a* N/a*', $name, long_name($name, @stat)) . attributes(@stat);
    }
    return status($id, 1, 'End of file') unless @entries;
    reply(104, $id, pack('N', scalar @entries) . join '', @entries);
}

sub do_remove {
    my ($id, $rest) = @_;
    my $path = take_path($rest);
    # Root could unlink a directory, on some file systems.
    return status($id, 4, 'Is a directory') if -d $path && !-l $path;
    outcome($id, unlink $path);
}

sub do_mkdir {
    my ($id, $rest) = @_;
    my $path = take_path($rest);
    outcome($id, mkdir $path, take_attributes($rest)->{mode} // 0777);
}

sub do_rmdir { my ($id, $rest) = @_; outcome($id, rmdir take_path($rest)) }

# Absolute, through links as far as there are any; what is not there stays as it is.
sub resolve {
    my ($path) = @_;
    my @todo = split m{/+}, $path =~ m{^/} ? $path : (readlink('/proc/self/cwd') // '') . "/$path";
    my ($links, @done) = (0);
    while (@todo) {
        my $part = shift @todo;
        next if $part eq '' || $part eq '.';
        if ($part eq '..') { pop @done; next }
        my $target = readlink join '/', '', @done, $part;
        if (!defined $target || ++$links > LINKS_MAX) { push @done, $part; next }
        @done = () if $target =~ m{^/};
        unshift @todo, split m{/+}, $target;
    }
    return '/' . join '/', @done;
}

sub do_realpath { my ($id, $rest) = @_; name_reply($id, resolve(take_path($rest))) }

sub do_rename {
    my ($id, $rest) = @_;
    my ($from, $to) = (take_path($rest), take_path($rest));
    return status($id, 4, 'File exists') if -e $to || -l $to;
    outcome($id, rename $from, $to);
}

sub do_readlink {
    my ($id, $rest) = @_;
    my $target = readlink take_path($rest);
    defined $target ? name_reply($id, $target) : failure($id);
}

sub do_symlink { my ($id, $rest) = @_; my $target = take_path($rest); outcome($id, symlink $target, take_path($rest)) }

sub do_extended {
    my ($id, $rest) = @_;
    my $extension = $extensions{ take_text($rest) } or return status($id, 8, 'not supported');
    my @paths;
    push @paths, take_path($rest) while length $$rest;
    $extension->($id, @paths, '', '');
}

sub receive {
    my ($length) = @_;
    my $bytes = '';
    while (length $bytes < $length) {
        my $count = sysread STDIN, $bytes, $length - length $bytes, length $bytes;
        exit 0 unless $count;
    }
    return $bytes;
}

while (1) {
    my $length = unpack 'N', receive(4);
    exit 1 if $length < 1 || $length > PACKET_MAX + 1024;
    my $packet = receive($length);
    my $type = ord substr $packet, 0, 1, '';
    if ($type == 1) {
        send_packet(pack('CN', 2, 3) . join '', map { pack 'N/a* N/a*', $_, '1' } sort keys %extensions);
        next;
    }
    exit 1 if length $packet < 4;
    my $id = take_number(\$packet);
    my $handler = $types{$type} or do { status($id, 8, 'not supported'); next };
    eval { $handler->($id, \$packet); 1 } or do { chomp(my $error = $@); status($id, $error eq 'bad message' ? 5 : 4, $error) };
}
