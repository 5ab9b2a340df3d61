/** The contract, for the rows with one server. */
import { askContract } from './contract.ts';
import { isOfSeveralServers, MATRIX } from './matrix.ts';

askContract(MATRIX.filter((row) => !isOfSeveralServers(row)));
