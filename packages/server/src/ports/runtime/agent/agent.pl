# The guest agent: the first process of a workload. It starts commands, reads and writes files and connects to ports
# for the platform, which speaks to it in frames over descriptors 0 and 1 (guest/frames.ts), and it reaps what commands
# leave behind. When the platform is gone, so is it, and with it every process of the workload.
package Agent;
use strict;
use warnings;

BEGIN {
    my $directory = __FILE__ =~ m{^(.*)/} ? $1 : '.';
    require "$directory/$_.pl" for qw(kernel loop commands files);
}

my %types = (
    open => 1, opened => 2, failed => 3, data   => 4,  end  => 5, credit => 6,
    signal => 7, resize => 8, exited => 9, close => 10, stop => 11, ready  => 12,
);
sub WINDOW ()       { 262_144 }
sub CHUNK ()        { 65_536 }
sub OUTPUT_MAX ()   { 1_048_576 }
sub FRAME_MAX ()    { 131_072 }
sub CHANNELS_MAX () { 256 }

# The processes have one user alone, who is root and the other one by turns.
our $has_one_user = 0;
# The kernel serves this workload alone, and counts what it alone does.
our $has_own_kernel = 0;
# A seccomp filter for commands, as the kernel takes it.
our $filter = '';
# Seconds without a word of the platform after which it is gone; 0: the end of the stream tells it in any case.
our $patience = 0;

my ($input, $output) = ('', '');
my ($in, $out);
my %channels;
my %openers = (
    exec    => \&Commands::start,
    read    => \&Files::open_read,
    write   => \&Files::open_write,
    connect => \&open_connection,
    usage   => \&Files::usage,
);

sub words { pack '(N/a*)*', @_ }

sub send_frame {
    my ($type, $channel, $payload) = @_;
    Loop::write_to($out, \&flush) if $output eq '';
    $output .= pack('NCN', 5 + length $payload, $types{$type}, $channel) . $payload;
}

sub flush {
    my $written = syswrite $out, $output;
    if (!defined $written) {
        Kernel::leave(0) unless $! == Kernel::EAGAIN || $! == Kernel::EINTR;
        return;
    }
    substr $output, 0, $written, '';
    Loop::no_write($out) if $output eq '';
}

sub fail {
    my ($id, $kind, $message, $reason) = @_;
    send_frame('failed', $id, words($kind, $message, $reason // ''));
    drop($id);
}

sub drop {
    my ($id) = @_;
    my $channel = delete $channels{$id} or return;
    $channel->{on_drop}->() if $channel->{on_drop};
    for my $source (values %{ $channel->{sources} }) { Loop::forget($source->{handle}) if $source->{handle} }
    for my $sink (values %{ $channel->{sinks} }) { Loop::forget($sink->{handle}) if $sink->{handle} }
}

# Is over when all of its streams have ended, and its command.
sub settle {
    my ($id) = @_;
    my $channel = $channels{$id} or return;
    return if $channel->{pid} || grep { $_->{handle} } values %{ $channel->{sources} };
    return if $channel->{is_two_way} && grep { $_->{handle} } values %{ $channel->{sinks} };
    drop($id);
}

# What a handle gives goes to the platform, as much as that has room for.
sub source {
    my ($id, $stream, $handle) = @_;
    Kernel::nonblocking($handle);
    my $source = { id => $id, stream => $stream, handle => $handle, credit => WINDOW };
    $channels{$id}{sources}{$stream} = $source;
    Loop::read_from($handle, sub { pump($source) });
}

sub pump {
    my ($source) = @_;
    my $limit = $source->{credit} < CHUNK ? $source->{credit} : CHUNK;
    my $count = sysread $source->{handle}, my ($bytes), $limit;
    if (!defined $count && ($! == Kernel::EAGAIN || $! == Kernel::EINTR)) {
        end_source($source, 1) if $source->{is_last};
        return 0;
    }
    if (!$count) {
        end_source($source);
        return 0;
    }
    errors_first($source->{id}) if $source->{stream} == 1;
    send_frame('data', $source->{id}, pack('C', $source->{stream}) . $bytes);
    $source->{credit} -= $count;
    Loop::no_read($source->{handle}) if $source->{credit} == 0;
    return 1;
}

# What a command wrote to its errors before what was just read of its output is sent before it, so that who hears of a
# result has heard all that led to it.
sub errors_first {
    my $errors = $channels{ $_[0] }{sources}{2} or return;
    1 while $errors->{handle} && $errors->{credit} > 0 && pump($errors);
}

# Somebody may still write to it: that is read and dropped, or a daemon would die of its first line.
sub end_source {
    my ($source, $is_open) = @_;
    my $handle = delete $source->{handle};
    send_frame('end', $source->{id}, pack 'C', $source->{stream});
    if ($is_open && !$source->{is_terminal}) {
        Loop::read_from($handle, sub {
            my $count = sysread $handle, my ($bytes), CHUNK;
            Loop::forget($handle) unless $count || !defined $count && $! == Kernel::EAGAIN;
        });
    } else {
        Loop::forget($handle);
    }
    settle($source->{id});
}

# A command has ended: what it wrote is there, and nobody waits for who else has its output open.
sub finish_sources {
    my ($id) = @_;
    for my $source (values %{ $channels{$id}{sources} }) {
        next unless $source->{handle};
        $source->{is_last} = 1;
        pump($source) while $source->{handle} && $source->{credit} > 0;
    }
}

sub sink {
    my ($id, $stream, $handle, $on_end) = @_;
    Kernel::nonblocking($handle);
    $channels{$id}{sinks}{$stream} =
        { id => $id, stream => $stream, handle => $handle, bytes => '', owed => 0, on_end => $on_end };
}

sub drain {
    my ($sink) = @_;
    my $handle = $sink->{handle};
    if (length $sink->{bytes}) {
        my $written = syswrite $handle, $sink->{bytes};
        if (!defined $written) {
            return if $! == Kernel::EAGAIN || $! == Kernel::EINTR;
            return $sink->{on_error}->() if $sink->{on_error};
            # Nobody reads it any more: the rest is taken and dropped.
            $written = length $sink->{bytes};
            delete $sink->{handle};
            Loop::forget($handle);
        }
        substr $sink->{bytes}, 0, $written, '';
        grant($sink, $written);
    }
    return if length $sink->{bytes};
    Loop::no_write($handle) if $sink->{handle};
    end_sink($sink) if $sink->{has_ended};
}

sub grant {
    my ($sink, $count) = @_;
    $sink->{owed} += $count;
    return if $sink->{owed} < WINDOW / 4;
    send_frame('credit', $sink->{id}, pack 'CN', $sink->{stream}, $sink->{owed});
    $sink->{owed} = 0;
}

sub end_sink {
    my ($sink) = @_;
    my $handle = delete $sink->{handle} or return;
    Loop::no_write($handle);
    $sink->{on_end} ? $sink->{on_end}->($handle) : close $handle;
    settle($sink->{id});
}

sub open_connection {
    my ($id, $port, @hosts) = @_;
    @hosts = ([2, pack 'S n a4 x8', 2, $port, "\x7f\0\0\1"], [10, pack 'S n N a16 N', 10, $port, 0, "\0" x 15 . "\1", 0])
        unless @hosts;
    my ($family, $address) = @{ shift @hosts };
    socket my $socket, $family, 1, 0 or return fail($id, 'unavailable', "socket: $!");
    Kernel::nonblocking($socket);
    my $retry = sub {
        Loop::forget($socket);
        @hosts ? open_connection($id, $port, @hosts) : fail($id, 'unavailable', "nobody listens on port $port");
    };
    return $retry->() unless connect($socket, $address) || $! == Kernel::EINPROGRESS;
    $channels{$id}{on_drop} = sub { Loop::forget($socket) };
    Loop::write_to($socket, sub {
        Loop::no_write($socket);
        delete $channels{$id}{on_drop};
        return $retry->() if unpack 'i', getsockopt $socket, 1, 4;
        open my $copy, '>&', $socket or return fail($id, 'unavailable', "$!");
        $channels{$id}{is_two_way} = 1;
        sink($id, 0, $copy, sub { shutdown $_[0], 1; close $_[0] });
        send_frame('opened', $id, '');
        source($id, 1, $socket);
    });
}

my %handlers = (
    $types{open} => sub {
        my ($id, $payload) = @_;
        my ($what, @arguments) = unpack '(N/a*)*', $payload;
        $channels{$id} = { sources => {}, sinks => {} };
        return fail($id, 'unavailable', 'too many things are open') if keys %channels > CHANNELS_MAX;
        my $opener = $openers{$what} or return fail($id, 'refused', "what is $what?");
        eval { $opener->($id, @arguments); 1 } or do { chomp(my $error = $@); fail($id, 'unavailable', $error) };
    },
    $types{data} => sub {
        my ($id, $payload) = @_;
        my $sink = $channels{$id}{sinks}{ ord $payload };
        my $length = length($payload) - 1;
        return grant($sink, $length) if $sink && !$sink->{handle};
        return unless $sink;
        $sink->{bytes} .= substr $payload, 1;
        Loop::write_to($sink->{handle}, sub { drain($sink) });
    },
    $types{end} => sub {
        my ($id, $payload) = @_;
        my $sink = $channels{$id}{sinks}{ ord $payload } or return;
        $sink->{has_ended} = 1;
        end_sink($sink) unless length $sink->{bytes};
    },
    $types{credit} => sub {
        my ($id, $payload) = @_;
        my ($stream, $bytes) = unpack 'CN', $payload;
        my $source = $channels{$id}{sources}{$stream};
        return unless $source && $source->{handle};
        $source->{credit} += $bytes;
        Loop::read_from($source->{handle}, sub { pump($source) });
        pump($source) while $source->{is_last} && $source->{handle} && $source->{credit} > 0;
    },
    $types{signal} => sub { Commands::signal($_[0], $channels{ $_[0] }, unpack 'NN', $_[1]) },
    $types{resize} => sub { Commands::resize($channels{ $_[0] }, unpack 'NN', $_[1]) },
    $types{close}  => sub { drop($_[0]) },
    $types{stop}   => sub { Commands::stop_all(unpack('N', $_[1]) / 1000) },
);

sub receive {
    my $count = sysread $in, $input, CHUNK, length $input;
    return if !defined $count && ($! == Kernel::EAGAIN || $! == Kernel::EINTR);
    Kernel::leave(0) unless $count;
    alarm $patience if $patience;
    my $at = 0;
    while (length($input) - $at >= 9) {
        my ($length, $type, $id) = unpack 'NCN', substr $input, $at, 9;
        Kernel::leave(2) if $length < 5 || $length > FRAME_MAX;
        last if length($input) - $at < 4 + $length;
        my $payload = substr $input, $at + 9, $length - 5;
        $at += 4 + $length;
        my $handler = $handlers{$type};
        # A channel that a late frame is about is gone.
        if ($handler && ($type == $types{open} || $type == $types{stop} || $type == $types{signal} || $channels{$id})) {
            $handler->($id, $payload);
        }
    }
    substr $input, 0, $at, '' if $at;
}

sub channel { $channels{ $_[0] } }

sub run {
    $SIG{PIPE} = 'IGNORE';
    open $in,  '<&=', 0 or die "input: $!";
    open $out, '>&=', 1 or die "output: $!";
    for ($in, $out) {
        binmode $_;
        Kernel::nonblocking($_);
    }
    my $children = Kernel::child_news();
    Loop::read_from($in, \&receive, 1);
    Loop::read_from($children, sub { sysread $children, my $news, 4096; Commands::reap() }, 1);
    send_frame('ready', 0, '');
    Kernel::changed_signals();
    while (1) {
        # Mostly there is room, and to ask whether there is takes as long as to write.
        flush() if length $output;
        Loop::turn(length $output > OUTPUT_MAX);
    }
}

unless (caller) {
    Kernel::close_others();
    run();
}
1;
