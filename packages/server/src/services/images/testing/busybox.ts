/** A layer for tests: busybox-static under all of its names. */
import { readFile } from "node:fs/promises"
import { applets, BUSYBOX } from "../../../ports/runtime/testing/busybox.ts"
import { tarOf } from "./tar.ts"

export const busyboxLayer = async (): Promise<Buffer> =>
  tarOf(
    ...[".", "bin", "etc", "usr"].map(path => ({ path, type: "Directory" as const })),
    { path: "bin/busybox", content: await readFile(BUSYBOX), mode: 0o755 },
    ...(await applets()).map(name => ({
      path: `bin/${name}`,
      type: "SymbolicLink" as const,
      linkpath: "busybox",
    })),
    { path: "etc/motd", content: "an image\n" },
    { path: "srv/app", type: "Directory" },
  )
