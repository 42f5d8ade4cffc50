# Makes a workload's disk ready before its container starts: the directories that are mounted from it, and on the first
# time a copy of what the image has in /etc, with `user` among its users. What a workload left on the disk is never
# followed. Its argument is the host name.
package Prepare;
use strict;
use warnings;

BEGIN {
    my ($directory) = __FILE__ =~ m{^(.*)/} or die 'an absolute path, please';
    require "$directory/$_.pl" for qw(agent link root image);
}

sub FILE_BYTES_MAX () { 8 << 20 }

# Of nodes, and what is written anew below.
my %left_out = map { $_ => 1 } qw(etc/hostname etc/hosts etc/mtab etc/resolv.conf);

sub copy_file {
    my ($from, $to, $mode) = @_;
    sysopen my $in, $from, Kernel::O_RDONLY or return;
    sysopen my $out, $to, Kernel::O_WRONLY | Kernel::O_CREAT | Kernel::O_EXCL | Kernel::O_NOFOLLOW, 0600 or return;
    while (sysread $in, my ($bytes), 65_536) { syswrite $out, $bytes }
    my (undef, undef, undef, undef, $uid, $gid) = lstat $from;
    chown $uid, $gid, $out;
    chmod $mode, $out;
}

# Of the image, whose files are the operator's, to a directory that nobody else has seen yet.
sub copy_tree {
    my ($path) = @_;
    opendir my $directory, "/$path" or return;
    for my $name (sort grep { $_ ne '.' && $_ ne '..' } readdir $directory) {
        my $at = "$path/$name";
        next if $left_out{$at};
        my $mode = (lstat "/$at")[2] // next;
        if (-l _) {
            symlink readlink "/$at", $at;
        } elsif (-d _) {
            Root::directory($at, $mode & 07777, 0);
            copy_tree($at);
        } elsif (-f _ && -s _ <= FILE_BYTES_MAX) {
            copy_file("/$at", $at, $mode & 0777);
        }
    }
}

my ($hostname) = @ARGV;
chdir '/.svc/disk' or die "disk: $!\n";
Root::disk_directories('.', 0);
if (!-d 'ready') {
    copy_tree('etc');
    Image::users(0);
    symlink '../proc/self/mounts', 'etc/mtab';
    # The node mounts its own there.
    Root::first_text("etc/$_", '', 0) for qw(hostname resolv.conf);
}
# It is mounted by itself, so it must be a file.
Image::replace('hosts', Root::hosts($hostname), 0644, 0) if -l 'etc/hosts' || !-f 'etc/hosts';
Root::directories_below(0);
Root::directory('ready', 0700, 0);
