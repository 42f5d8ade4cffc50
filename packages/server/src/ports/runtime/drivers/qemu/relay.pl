# Carries the requests of a FUSE file system to the machine and its answers back, for whoever reads files of the machine
# in a guest. It has all that it needs in memory: who waits for a file waits for this process.
package Relay;
use strict;
use warnings;

# At least as much as the kernel may hand out at once (linux/fuse.h: FUSE_MIN_READ_BUFFER), and what may arrive.
sub REQUEST_MAX () { 139_264 }
sub ARRIVED_MAX () { 1_048_576 }

sub send_all {
    my ($port, $bytes) = @_;
    while (length $bytes) {
        my $written = syswrite $port, $bytes;
        Kernel::leave(1) unless defined $written || $! == Kernel::EINTR || $! == Kernel::EAGAIN;
        substr $bytes, 0, $written // 0, '';
    }
}

sub run {
    my ($fuse, $port) = @_;
    my $arrived = '';
    Loop::read_from($fuse, sub {
        # A request may have been given up meanwhile: ENOENT, and ENODEV when the file system is gone.
        my $count = sysread $fuse, my ($request), REQUEST_MAX;
        return send_all($port, $request) if $count;
        Kernel::leave(0) if !defined $count && $! == 19;
    });
    Loop::read_from($port, sub {
        my $count = sysread $port, $arrived, ARRIVED_MAX, length $arrived;
        Kernel::leave(0) if defined $count && $count == 0;
        while (length $arrived >= 4 && length $arrived >= unpack 'L', $arrived) {
            # Nobody waits for this one any more when it is refused.
            syswrite $fuse, substr $arrived, 0, unpack('L', $arrived), '';
        }
    });
    Loop::turn(0) while 1;
}

1;
