/**
 * What is asked of nftables (nft(8)): rules that all workloads have in common, and those of one. Each text is one
 * transaction, written on one line, as nft reads what it is told while it runs.
 */
import { SPECIAL_IPV4 } from "../../../kernel/outbound/addresses.ts"
import type { Reach } from "./policy.ts"

export const GATEWAY_TABLE = "inet workloads"
/** Listed to tell that all before it is done. */
export const DONE_CHAIN = "done"
const UPLINK = "uplink"

/** Connections that a workload may have under way, and begin in a second. */
const CONNECTIONS_MAX = 512
const NEW_PER_SECOND_MAX = 128
const NEW_BURST = 512
/** Seconds after which a connection without a packet is forgotten: the kernel keeps one that is open for five days. */
const FORGOTTEN = {
  tcp: "syn_sent: 20, syn_recv: 20, established: 3600, fin_wait: 30, close_wait: 60, last_ack: 20, time_wait: 10",
  udp: "unreplied: 10, replied: 60",
}
/** How long a name's address stays allowed after a packet went there. */
const USED_SECONDS = 300
const ADDRESSES_MAX = 4_096

/** What ends with a brace is a statement too, and asks for what separates statements. */
const line = (text: string): string =>
  text
    .replace(/\}\n/g, "};\n")
    .replace(/\s*\n\s*/g, " ")
    .trim()

const protocols = ["tcp", "udp"] as const
const forgetting = protocols
  .map(name => `ct timeout soon-${name} { protocol ${name}; l3proto ip; policy = { ${FORGOTTEN[name]} }; };`)
  .join(" ")
const forgetsSoon = protocols
  .map(name => `ct state new meta l4proto ${name} ct timeout set "soon-${name}";`)
  .join(" ")
const REFUSED = "goto refused"
/** Not all kernels of workloads end a connection at once that is said to be prohibited; where nobody is, all do. */
const REFUSED_CHAIN = `chain refused {
      meta l4proto tcp reject with icmpx type host-unreachable;
      reject with icmpx type admin-prohibited;
    }`

/**
 * Between workloads and the gateway. The kernel drops what claims another address than its own: the way back to it must
 * be the way that it came. What may be reached is asked for each packet that leaves, whatever its connection; what comes
 * must answer one that left.
 */
export const gatewayRules = (gateway: string): string =>
  line(`table ${GATEWAY_TABLE} {
    set special { type ipv4_addr; flags interval; auto-merge; elements = { ${SPECIAL_IPV4.join(", ")} }; }
    map policies { type ipv4_addr : verdict; }
    set counted { type ipv4_addr; size 65535; flags dynamic; }
    set begun { type ipv4_addr; size 65535; flags dynamic,timeout; timeout 1m; }
    ${forgetting}
    chain ${DONE_CHAIN} { }
    ${REFUSED_CHAIN}
    chain source {
      type filter hook prerouting priority raw; policy accept;
      meta nfproto ipv6 drop;
      iifname "w*" fib saddr . iif oif missing drop;
    }
    chain begin {
      add @counted { ip saddr ct count over ${CONNECTIONS_MAX} } ${REFUSED};
      update @begun { ip saddr limit rate over ${NEW_PER_SECOND_MAX}/second burst ${NEW_BURST} packets } ${REFUSED};
      ${forgetsSoon}
    }
    chain forward {
      type filter hook forward priority filter; policy drop;
      iifname "${UPLINK}" oifname "w*" ct state established,related accept;
      iifname != "w*" drop;
      ct state invalid drop;
      oifname != "${UPLINK}" ${REFUSED};
      ip daddr @special ${REFUSED};
      meta l4proto != { tcp, udp, icmp } ${REFUSED};
      ct state new jump begin;
      ip saddr vmap @policies;
    }
    chain input {
      type filter hook input priority filter; policy drop;
      iifname "lo" accept;
      iifname "${UPLINK}" ct state established,related accept;
      iifname != "w*" drop;
      ct state invalid drop;
      ct state new jump begin;
      ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 accept;
      ip daddr ${gateway} icmp type echo-request limit rate 20/second accept;
      ${REFUSED};
    }
    chain out {
      type nat hook postrouting priority srcnat; policy accept;
      oifname "${UPLINK}" masquerade;
    }
  }`)

/**
 * Between the gateway and everything else: `device` is the gateway's cable, `inside` its address. Addresses are judged
 * once more after the machine has translated them, so a port that it publishes for others leads nowhere else. `closed` are devices
 * that forward for the gateway's sake alone, and nobody else's packets.
 */
export const machineRules = (device: string, inside: string, closed: readonly string[]): string =>
  line(`table inet ${device} {
    flags owner;
    set special { type ipv4_addr; flags interval; auto-merge; elements = { ${SPECIAL_IPV4.join(", ")} }; }
    ${forgetting}
    chain ${DONE_CHAIN} { }
    ${REFUSED_CHAIN}
    chain source {
      type filter hook prerouting priority raw; policy accept;
      iifname "${device}" meta nfproto ipv6 drop;
      iifname "${device}" ip saddr != ${inside} drop;
      iifname != "${device}" ip saddr ${inside} drop;
    }
    chain input {
      type filter hook input priority filter - 5; policy accept;
      iifname "${device}" meta l4proto tcp reject with tcp reset;
      iifname "${device}" ${REFUSED};
    }
    chain forward {
      type filter hook forward priority filter - 5; policy accept;
      oifname "${device}" ct state established,related accept;
      oifname "${device}" drop;
      ${closed.length > 0 ? `iifname != "${device}" iifname { ${closed.map(name => JSON.stringify(name)).join(", ")} } drop;` : ""}
      iifname != "${device}" accept;
      ip daddr @special ${REFUSED};
      fib daddr type != unicast ${REFUSED};
      ${forgetsSoon}
    }
    chain out {
      type nat hook postrouting priority srcnat; policy accept;
      ip saddr ${inside} oifname != "${device}" masquerade;
    }
  }`)

const named = (device: string) => ({
  chain: `${GATEWAY_TABLE} ${device}`,
  allowed: `${device}-allowed`,
  denied: `${device}-denied`,
  names: `${device}-names`,
})

const networks = (name: string, cidrs: readonly string[]): string =>
  `add set ${GATEWAY_TABLE} ${name} { type ipv4_addr; flags interval; auto-merge; ${
    cidrs.length > 0 ? `elements = { ${cidrs.join(", ")} };` : ""
  } }`

const isOpen = ({ allow, deny }: Reach): boolean => allow === null && deny.length === 0

/** `device` is the workload's cable. */
export const workloadRules = (device: string, address: string, reach: Reach): string => {
  const { chain, allowed, denied, names } = named(device)
  if (isOpen(reach)) return `add element ${GATEWAY_TABLE} policies { ${address} : accept }`
  const verdicts =
    reach.allow === null
      ? ["accept"]
      : [
          `ip daddr @${allowed} accept`,
          `ip daddr @${names} update @${names} { ip daddr timeout ${USED_SECONDS}s } accept`,
          REFUSED,
        ]
  return [
    networks(denied, reach.deny),
    networks(allowed, reach.allow?.cidrs ?? []),
    `add set ${GATEWAY_TABLE} ${names} { type ipv4_addr; size ${ADDRESSES_MAX}; flags dynamic,timeout; }`,
    `add chain ${chain}`,
    ...[`ip daddr @${denied} ${REFUSED}`, ...verdicts].map(rule => `add rule ${chain} ${rule}`),
    `add element ${GATEWAY_TABLE} policies { ${address} : goto ${device} }`,
  ].join("; ")
}

export const withoutWorkload = (device: string, address: string, reach: Reach): string => {
  const { chain, allowed, denied, names } = named(device)
  const element = `delete element ${GATEWAY_TABLE} policies { ${address} }`
  if (isOpen(reach)) return element
  const sets = [denied, allowed, names].map(name => `delete set ${GATEWAY_TABLE} ${name}`)
  return [element, `flush chain ${chain}`, `delete chain ${chain}`, ...sets].join("; ")
}

/** Taken out and put in again, for an element that is there keeps its old end. */
export const allowedAddresses = (device: string, addresses: readonly string[], seconds: number): string => {
  const { names } = named(device)
  const elements = (suffix: string) => `${names} { ${addresses.map(address => address + suffix).join(", ")} }`
  const until = elements(` timeout ${seconds}s`)
  return [
    `add element ${GATEWAY_TABLE} ${until}`,
    `delete element ${GATEWAY_TABLE} ${elements("")}`,
    `add element ${GATEWAY_TABLE} ${until}`,
  ].join("; ")
}
