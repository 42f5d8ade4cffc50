/** A root filesystem for tests: Debian's busybox-static under all of its names. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { chmod, copyFile, mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"

export const BUSYBOX = "/bin/busybox"

/** Why there is none here; false when there is. */
export const withoutBusybox: string | false = existsSync(BUSYBOX)
  ? false
  : "install the package busybox-static"

/** Its other names. */
export const applets = async (): Promise<readonly string[]> => {
  const { stdout } = await promisify(execFile)(BUSYBOX, ["--list"])
  return stdout.split("\n").filter(name => name !== "" && name !== "busybox")
}

/** Makes it in a directory that is there. */
export const makeBusyboxRoot = async (directory: string): Promise<void> => {
  await chmod(directory, 0o755)
  for (const name of ["bin", "etc", "usr", "root"]) await mkdir(join(directory, name))
  await copyFile(BUSYBOX, join(directory, "bin", "busybox"))
  for (const name of await applets()) await symlink("busybox", join(directory, "bin", name))
  await writeFile(
    join(directory, "etc", "passwd"),
    "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n",
  )
  await writeFile(join(directory, "etc", "motd"), "an image\n")
}
