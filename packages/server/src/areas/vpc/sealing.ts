/** What sealed keys belong to. */
export const keyContext = (networkId: string): string => `vpc.networks.private_key|${networkId}`
export const peerKeyContext = (peerId: string): string => `vpc.peers.private_key|${peerId}`
