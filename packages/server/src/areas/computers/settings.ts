import type { Settings } from "../../kernel/setting.ts"
import { optional, portOrOff } from "../../kernel/setting-parsers.ts"

export const settings = {
  sshPort: {
    variable: "SVC_SSH_PORT",
    default: "SVC_PORT plus two",
    description: "Port of ssh for computers; `off` disables it.",
    parse: portOrOff,
  },
  sshHost: {
    variable: "SVC_SSH_HOST",
    default: "the host of SVC_BASE_URL",
    description: "Host name in the ssh addresses of computers.",
    parse: optional,
  },
} as const satisfies Settings
