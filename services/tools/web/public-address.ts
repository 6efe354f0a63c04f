/** Which addresses belong to the public internet. Everything else is somebody's inside. */
import { BlockList, isIP } from 'node:net';

/** IANA's special-purpose registries; what is not unicast or not reachable for all. */
const inside: readonly (readonly [net: string, bits: number])[] = [
  ['0.0.0.0', 8], //          this host
  ['10.0.0.0', 8], //         private
  ['100.64.0.0', 10], //      carrier NAT; also metadata of one cloud
  ['127.0.0.0', 8], //        loopback
  ['169.254.0.0', 16], //     link-local; metadata of most clouds
  ['172.16.0.0', 12], //      private
  ['192.0.0.0', 24], //       protocol assignments
  ['192.0.2.0', 24], //       documentation
  ['192.88.99.0', 24], //     6to4 relays
  ['192.168.0.0', 16], //     private
  ['198.18.0.0', 15], //      benchmarks
  ['198.51.100.0', 24], //    documentation
  ['203.0.113.0', 24], //     documentation
  ['224.0.0.0', 4], //        multicast
  ['240.0.0.0', 4], //        reserved, broadcast
];
/** Of IPv6 only global unicast is public; these parts of it are not, or hide an IPv4 address. */
const insideSix: readonly (readonly [net: string, bits: number])[] = [
  ['2001::', 23], //          protocol assignments, Teredo
  ['2001:db8::', 32], //      documentation
  ['2002::', 16], //          6to4
  ['3fff::', 20], //          documentation
];

const blocked = new BlockList();
for (const [net, bits] of inside) blocked.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of insideSix) blocked.addSubnet(net, bits, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** @param address an IP address, without brackets. Anything else is not public. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, 'ipv4');
    case 6:
      // Also `::ffff:127.0.0.1` and 64:ff9b::/96: neither is global unicast.
      return globalUnicast.check(address, 'ipv6') && !blocked.check(address, 'ipv6');
    default:
      return false;
  }
}
