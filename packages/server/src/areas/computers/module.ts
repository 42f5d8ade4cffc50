import { fileURLToPath } from "node:url"
import { areas } from "@svc/contract"
import { defineModule } from "../../kernel/area.ts"
import { runtimeState } from "../../services/workloads/state.ts"
import { needs } from "./needs.ts"
import { settings } from "./settings.ts"

export const computers = defineModule({
  name: "computers",
  title: "Computers",
  contract: [areas.computers],
  settings,
  needs,
  migrations: { schema: "computers", folder: fileURLToPath(new URL("migrations", import.meta.url)) },
  wakes: { rowsIn: ["computers.computers"] },
  listeners: {
    ssh: {
      speaks: "ssh",
      setting: "SVC_SSH_PORT",
      address: ({ settings: { sshPort }, installation: { host, portAfter } }) =>
        sshPort === "off" ? undefined : { host, port: sshPort ?? portAfter(2) },
    },
  },
  state: ({ runtime, ports }) => runtimeState(runtime, { running: 0, ssh: ports.ssh !== undefined }),
  load: () => import("./area.ts"),
})
