import { fileURLToPath } from "node:url"
import { defineService } from "../../kernel/service.ts"
import { clock, database, installation, log, retryDelayFactor } from "../../kernel/tokens.ts"
import { runtime } from "../../ports/runtime/port.ts"
import { hosts } from "../hosts/token.ts"
import { serving } from "./token.ts"

export const servingService = defineService({
  provides: serving,
  needs: { runtime, hosts, database, clock, log, installation, retryDelayFactor },
  migrations: { schema: "serving", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  // The code is imported with the first area that runs something, not when one is asked how it is.
  open: given => ({
    open: async kind =>
      (await import("./serving.ts")).openServing(kind, { ...given, dataDir: given.installation.dataDir }),
  }),
})
