/** The volumes of Pods on the fake's node: folders and file systems in memory, and claims that stay. */
import { execFile } from "node:child_process"
import { lstat, mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { FakeKubernetes, Stored } from "../../kubernetes/testing/kubernetes.ts"
import { type Container, quantity } from "./oci.ts"

const run = promisify(execFile)

export interface Volumes extends AsyncDisposable {
  /** For a container's bundle. Makes what is not there yet below `at`, the Pod's own folder. */
  mountsOf(pod: Stored, container: Container, at: string): Promise<readonly object[]>
  release(at: string): Promise<void>
  /** What a claim kept goes. */
  free(claim: Stored): Promise<void>
}

const mountMemory = async (directory: string, bytes: number) => {
  await mkdir(directory, { recursive: true })
  await run("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=777`, "svc-volume", directory])
}

/** As the kubelet does it, which follows no link on the way. */
const subPathOf = async (directory: string, subPath: string): Promise<string> => {
  let at = directory
  for (const part of subPath.split("/")) {
    at = join(at, part)
    const found = await lstat(at).catch(() => undefined)
    if (found?.isSymbolicLink()) throw new Error(`the subPath ${subPath} is a link`)
    if (!found) await mkdir(at, { mode: 0o750 })
  }
  return at
}

export const createVolumes = (kubernetes: FakeKubernetes, folder: string): Volumes => {
  /** By directory. */
  const made = new Map<string, Promise<void>>()
  const mounted = new Set<string>()
  const claimAt = (claim: Stored) => join(folder, "claims", claim.metadata.uid)
  const once = (directory: string, make: () => Promise<void>) => {
    const known = made.get(directory) ?? make()
    made.set(directory, known)
    return known
  }
  const mountOnce = (directory: string, bytes: number) =>
    once(directory, async () => {
      await mountMemory(directory, bytes)
      mounted.add(directory)
    })
  const unmount = async (directory: string) => {
    made.delete(directory)
    if (mounted.delete(directory)) await run("umount", ["-l", directory])
  }

  const place = async (volume: Stored, at: string): Promise<string> => {
    const directory = join(at, "volumes", volume.name)
    if (volume.emptyDir?.medium === "Memory") await mountOnce(directory, quantity(volume.emptyDir.sizeLimit))
    else if (volume.emptyDir)
      await once(directory, () => mkdir(directory, { recursive: true, mode: 0o777 }).then())
    else if (volume.configMap) {
      const { data } = kubernetes.get("configmaps", volume.configMap.name)
      await once(directory, async () => {
        await mkdir(directory, { recursive: true, mode: 0o755 })
        for (const [name, text] of Object.entries(data)) await writeFile(join(directory, name), String(text))
      })
    } else {
      const claim = kubernetes.get("persistentvolumeclaims", volume.persistentVolumeClaim.claimName)
      if (!claim) throw new Error(`there is no claim ${volume.persistentVolumeClaim.claimName}`)
      await mountOnce(claimAt(claim), quantity(claim.spec.resources.requests.storage))
      return claimAt(claim)
    }
    return directory
  }

  return {
    async mountsOf(pod, container, at) {
      const mounts: object[] = []
      for (const { name, mountPath, subPath, readOnly } of container.volumeMounts ?? []) {
        const volume = pod.spec.volumes.find((one: Stored) => one.name === name)
        const directory = await place(volume, at)
        const source = subPath === undefined ? directory : await subPathOf(directory, subPath)
        const options = ["rbind", "rprivate", ...(readOnly ? ["ro"] : [])]
        mounts.push({ destination: mountPath, type: "bind", source, options })
      }
      return mounts
    },
    async release(at) {
      for (const directory of [...made.keys()]) if (directory.startsWith(`${at}/`)) await unmount(directory)
    },
    async free(claim) {
      await unmount(claimAt(claim))
      await rm(claimAt(claim), { recursive: true, force: true })
    },
    async [Symbol.asyncDispose]() {
      for (const directory of [...made.keys()]) await unmount(directory)
    },
  }
}
