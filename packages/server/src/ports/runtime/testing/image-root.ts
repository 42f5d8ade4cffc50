/** This machine's programs, as mounts of a container. */
import { existsSync, lstatSync } from "node:fs"

const plain = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"]

export const hostPaths = () =>
  plain
    .filter(name => existsSync(`/${name}`) && !lstatSync(`/${name}`).isSymbolicLink())
    .map(name => ({
      ...{ destination: `/${name}`, type: "bind", source: `/${name}` },
      options: ["rbind", "ro", "nosuid", "nodev"],
    }))
