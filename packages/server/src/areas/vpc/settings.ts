import type { Settings } from "../../kernel/setting.ts"
import { hostName, word } from "../../kernel/setting-parsers.ts"

export interface PortRange {
  readonly first: number
  readonly last: number
}

const FIRST_PORT = 51_820
const LAST_PORT = 52_819

const portRange = (text = `${FIRST_PORT}-${LAST_PORT}`): PortRange => {
  const [, from, to] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
  const first = Number(from)
  const last = Number(to ?? from)
  if (!(first >= 1 && last <= 65_535 && first <= last))
    throw new RangeError("must be a UDP port or a range of them, such as 51820-52819")
  return { first, last }
}

export const settings = {
  vpcEngine: {
    variable: "SVC_VPC",
    default: "auto",
    description:
      "What carries private networks: `kernel` for WireGuard of the Linux kernel, `wireguard-go` for the program of this name, `auto` for the first of them that works, `off` for none. Takes root, `ip` and `wg`; `svc doctor` says what is missing.",
    parse: word("auto", "kernel", "wireguard-go", "off"),
  },
  vpcEndpoint: {
    variable: "SVC_VPC_ENDPOINT",
    default: "the host of SVC_BASE_URL",
    description: "Host name or address of this machine, to which peers of private networks connect by UDP.",
    parse: hostName,
  },
  vpcPorts: {
    variable: "SVC_VPC_PORTS",
    default: `${FIRST_PORT}-${LAST_PORT}`,
    description:
      "UDP ports of private networks, one for each network. The firewall of the machine must let them in.",
    parse: portRange,
  },
} as const satisfies Settings
