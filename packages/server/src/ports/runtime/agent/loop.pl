# Waits for descriptors and calls who asked for them.
package Loop;
use strict;
use warnings;

my (%on_read, %on_write);
my ($reads, $writes) = ('', '');
# Read also while what was said has not been taken yet.
my $always = '';
my ($deadline, $on_deadline);

sub read_from {
    my ($handle, $callback, $is_always) = @_;
    my $fd = fileno $handle;
    $on_read{$fd} = $callback;
    vec($reads, $fd, 1) = 1;
    vec($always, $fd, 1) = 1 if $is_always;
}

sub no_read {
    my $fd = fileno $_[0];
    return unless defined $fd;
    delete $on_read{$fd};
    vec($reads,  $fd, 1) = 0;
    vec($always, $fd, 1) = 0;
}

sub write_to {
    my ($handle, $callback) = @_;
    my $fd = fileno $handle;
    $on_write{$fd} = $callback;
    vec($writes, $fd, 1) = 1;
}

sub no_write {
    my $fd = fileno $_[0];
    return unless defined $fd;
    delete $on_write{$fd};
    vec($writes, $fd, 1) = 0;
}

sub forget {
    my ($handle) = @_;
    no_read($handle);
    no_write($handle);
    close $handle;
}

# What a parent waited for is not its child's.
sub clear {
    (%on_read, %on_write) = ();
    ($reads, $writes, $always) = ('', '', '');
}

sub after {
    my ($seconds, $callback) = @_;
    ($deadline, $on_deadline) = (Kernel::now() + $seconds, $callback);
}

# `is_full`: only those are read that asked to be always.
sub turn {
    my ($is_full) = @_;
    my ($readable, $writable) = ($is_full ? $always : $reads, $writes);
    my $left = defined $deadline ? $deadline - Kernel::now() : undef;
    $left = 0 if defined $left && $left < 0;
    my $found = select $readable, $writable, undef, $left;
    if (defined $deadline && Kernel::now() >= $deadline) {
        my $callback = $on_deadline;
        ($deadline, $on_deadline) = ();
        $callback->();
    }
    return if $found <= 0;
    for my $fd (keys %on_write) {
        $on_write{$fd}->() if vec($writable, $fd, 1) && $on_write{$fd};
    }
    for my $fd (keys %on_read) {
        $on_read{$fd}->() if vec($readable, $fd, 1) && $on_read{$fd};
    }
}

1;
