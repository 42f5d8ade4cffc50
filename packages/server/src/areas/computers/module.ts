import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { runtimeState } from "../../core/workloads/state.ts"
import { defineModule } from "../../services.ts"
import { needs } from "./needs.ts"

export const computers = defineModule({
  name: "computers",
  title: "Computers",
  contract: [areas.computers],
  needs,
  migrations: { schema: "computers", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["computers.computers"] },
  provides: ["sshClients"],
  state: ({ runtime, ssh }) => runtimeState(runtime, { running: 0, ssh: ssh !== undefined }),
  load: () => import("./area.ts"),
})
