import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const driver = fileURLToPath(new URL("drivers/process/", import.meta.url))
/** So many that, without an order among them, some lose each time that they try. */
const TOGETHER = 200

/** Processes that all go at once when a pipe is closed, and hold what they have got until all have told. */
const program = `
  require "$ARGV[0]launch.pl";
  my $file = $ARGV[1];
  pipe my $go, my $begin; pipe my $told, my $tell; pipe my $over, my $end;
  for (1 .. ${TOGETHER}) {
    next if fork;
    close $begin; close $end; sysread $go, my $none, 1;
    my @got = eval { Root::loop_device($file) };
    syswrite $tell, @got ? "got\\n" : $@;
    close $tell; sysread $over, $none, 1;
    Kernel::leave(0);
  }
  close $tell; close $begin; print <$told>; close $end; 1 while wait > 0;`

test("as many disks as are wanted at once find a device each", async t => {
  if (process.getuid?.() !== 0) return t.skip("loop devices are root's")
  const folder = mkdtempSync(join(tmpdir(), "svc-loops-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "disk")
  writeFileSync(file, "")
  truncateSync(file, 2 ** 20)
  const { stdout } = await promisify(execFile)("perl", ["-e", program, driver, file])
  if (stdout.includes("loop-control") || stdout.includes("loop devices: No")) return t.skip(stdout)
  assert.equal(stdout, "got\n".repeat(TOGETHER))
})
