import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"
import { stateOf } from "./state.ts"

export const builds = defineModule({
  name: "builds",
  title: "Builds",
  contract: [areas.builds],
  settings,
  needs,
  migrations: { schema: "builds", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  keepsBlobs: [{ table: "builds.uploads", owner: "build_id", address: "blob" }],
  wakes: { queues: ["builds.run", "builds.prune"] },
  state: ({ runtime }) => stateOf(runtime),
  load: () => import("./area.ts"),
})
