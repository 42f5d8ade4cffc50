import { join } from "node:path"
import { defineService } from "../../kernel/service.ts"
import { installation } from "../../kernel/tokens.ts"
import { kv } from "./port.ts"
import { settings } from "./settings.ts"

export const kvService = defineService({
  provides: kv,
  settings,
  needs: { installation },
  atStart: given => given.settings.kvUrl !== undefined,
  async open({ settings: { kvUrl }, installation: { dataDir } }, { opened }) {
    const { openKv } = await import("./index.ts")
    const provider =
      kvUrl === undefined
        ? ({ driver: "lmdb", path: join(dataDir, "kv") } as const)
        : ({ driver: "redis", url: kvUrl } as const)
    return opened.use(await openKv(provider))
  },
})
