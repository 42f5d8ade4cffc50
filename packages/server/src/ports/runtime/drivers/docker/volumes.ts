/** Disks that Docker keeps, for a platform that may not itself: one named volume for each workload, of no size. */
import type { DockerApi } from "./api.ts"

export interface Volumes {
  /** As Docker counted lately. */
  bytesOf(name: string): Promise<number>
  /** Does nothing when it is not there. */
  remove(name: string): Promise<void>
}

/** Of GET /system/df. */
interface Usage {
  readonly Volumes?:
    | readonly { readonly Name: string; readonly UsageData?: { readonly Size: number } | null }[]
    | null
}

/** Docker walks through all of them to count one. */
const COUNTED_MS = 10_000

export const createVolumes = (api: DockerApi): Volumes => {
  let counted: { readonly at: number; readonly usage: Promise<Usage> } | undefined
  const count = (): Promise<Usage> => {
    if (counted && performance.now() - counted.at < COUNTED_MS) return counted.usage
    const usage = api.call("GET", "/system/df", { query: { type: "volume" } }) as Promise<Usage>
    counted = { at: performance.now(), usage }
    return usage
  }
  return {
    async bytesOf(name) {
      const { Volumes } = await count()
      return Math.max(0, Volumes?.find(({ Name }) => Name === name)?.UsageData?.Size ?? 0)
    },
    remove: async name => void (await api.call("DELETE", `/volumes/${name}`, { accepts: [404] })),
  }
}
