import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { isWithin, outermost, readMounts, readOnlyMountOf, writableMounts } from "./mounts.ts"

const MOUNTINFO = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard
28 27 0:25 / /opt/read-only ro,nosuid - tmpfs none ro
29 27 254:1 / /home rw,nosuid,nodev,noatime - ext4 /dev/vdb rw
30 27 254:2 / /srv/my\\040data rw - xfs /dev/vdc rw
31 27 0:30 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 27 0:31 / /run/user/1000 rw - tmpfs tmpfs rw
33 29 0:32 / /home ro - ext4 /dev/vdd ro
`

test("every writable mount becomes read-only with the flags it has, but for covered ones and the kernel's", () => {
  assert.deepEqual(writableMounts(readMounts(MOUNTINFO), ["/run"]), [
    { path: "/", options: "remount,bind,ro,relatime" },
    { path: "/srv/my data", options: "remount,bind,ro" },
  ])
})

test("a read-only place in a mount keeps the flags of the mount that is seen there", () => {
  const mounts = readMounts(MOUNTINFO)
  assert.equal(readOnlyMountOf(mounts, "/opt/read-only/bin").options, "remount,bind,ro,nosuid")
  assert.equal(readOnlyMountOf(mounts, "/home/ada").options, "remount,bind,ro")
  assert.equal(readOnlyMountOf(mounts, "/usr").options, "remount,bind,ro,relatime")
})

test("a directory is in another only by whole names", () => {
  assert.ok(isWithin("/a/b", "/a") && isWithin("/a", "/a") && isWithin("/a", "/") && isWithin("/a/..b", "/a"))
  assert.ok(!isWithin("/ab", "/a") && !isWithin("/a", "/a/b") && !isWithin("/", "/a"))
})

test("of directories to cover only the outermost that exist are left, without links", t => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "svc-mounts-")))
  t.after(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, "a/b"), { recursive: true })
  symlinkSync(join(root, "a"), join(root, "link"))
  assert.deepEqual(outermost([join(root, "a/b"), join(root, "link"), join(root, "absent")]), [
    join(root, "a"),
  ])
})
