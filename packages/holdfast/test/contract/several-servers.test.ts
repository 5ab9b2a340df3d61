/** The contract, for quorums, clusters and sentinels. */
import { askContract } from './contract.ts';
import { isOfSeveralServers, MATRIX } from './matrix.ts';

askContract(MATRIX.filter(isOfSeveralServers));
