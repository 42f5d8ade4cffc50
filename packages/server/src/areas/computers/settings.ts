import type { Settings } from "../../kernel/setting.ts"
import { optional, portOrOff } from "../../kernel/setting-parsers.ts"

export const settings = {
  sshPort: {
    variable: "SVC_SSH_PORT",
    otherwise: "SVC_PORT plus two",
    meaning: "Port on which computers are reached by ssh; `off` for none.",
    parse: portOrOff,
  },
  sshHost: {
    variable: "SVC_SSH_HOST",
    otherwise: "the host of SVC_BASE_URL",
    meaning: "Host name under which computers say that they are reached by ssh.",
    parse: optional,
  },
} as const satisfies Settings
